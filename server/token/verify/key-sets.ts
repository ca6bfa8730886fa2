import { createPublicKey } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Clock, Timer } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import { algorithmsOf, SECRET_ALGORITHMS } from './algorithms.ts'
import { CachedKeySet } from './cached-key-set.ts'
import type { CacheTimes } from './cached-key-set.ts'
import { issuerDirective, MIN_SECRET_BYTES, pinnedAlgorithms } from './issuer.ts'
import type { Issuer, PreviousSecret } from './issuer.ts'
import { fingerprint, MAX_JWKS_BYTES, publicVerificationKey } from './jwks.ts'
import type { VerificationKey } from './jwks.ts'
import { fetchText } from './key-fetch.ts'
import type { Fetch } from './key-fetch.ts'
import type { KeySet, KeySetListener } from './key-set.ts'

/** Time for one request of a key set URL, first byte to last. */
const FETCH_TIMEOUT_MS = 5000

/** What a key set is built with. */
export interface KeySetParts {
  readonly clock: Clock
  readonly fetch: Fetch
  readonly listener: KeySetListener
  /** Of sets that are loaded again: files and URLs. */
  readonly times?: CacheTimes
}

/**
 * Builds the key set of an issuer. Files with a secret or a PEM key are read here and now; a key set file is read at
 * `start`, again every few minutes, and when a token names a key that it does not hold.
 *
 * @throws RespcastError `ERR_CONFIG` if a file cannot be read, or holds no fitting key.
 */
export function createKeySet(issuer: Issuer, parts: KeySetParts): KeySet {
  const { clock, fetch, listener, times } = parts
  const source = issuer.keys
  const file = (path: string, name: string = source.kind): KeyFile => ({
    directive: issuerDirective(issuer, name),
    path,
  })
  const secretKeys = (secret: Uint8Array, previous: PreviousSecret | undefined): KeySet => {
    if (previous === undefined) return new SecretKeySet(secret, undefined, clock, listener)
    const { validUntilMs } = previous
    const old =
      'path' in previous ? readSecret(file(previous.path, 'previous-secret-file')) : previous.secret
    return new SecretKeySet(secret, { secret: old, validUntilMs }, clock, listener)
  }
  switch (source.kind) {
    case 'secret':
      return secretKeys(source.secret, source.previous)
    case 'secret-file':
      return secretKeys(readSecret(file(source.path)), source.previous)
    case 'public-key-file':
      return new PublicKeySet(readPublicKey(file(source.path), pinnedAlgorithms(issuer)))
    case 'jwks-file':
      return new JwksFileKeySet(file(source.path), clock, listener, times)
    case 'jwks-url': {
      const bounds = { timeoutMs: FETCH_TIMEOUT_MS, maxBytes: MAX_JWKS_BYTES }
      const load = (): Promise<string> => fetchText(fetch, source.url, bounds, clock)
      return new CachedKeySet(load, clock, listener, times)
    }
  }
}

/** Keys that are all there from the beginning, and never change. */
abstract class FixedKeySet implements KeySet {
  start(): Promise<void> {
    return Promise.resolve()
  }

  startNow(): void {}

  inherit(): void {}

  stop(): void {}

  ids(): readonly string[] {
    return this.valid().map((key) => key.id)
  }

  holds(keyId: string): boolean {
    return this.valid().some((key) => key.id === keyId)
  }

  candidates(algorithm: string): Promise<readonly VerificationKey[]> {
    return Promise.resolve(this.valid().filter((key) => key.algorithms.includes(algorithm)))
  }

  /** The keys that count now. */
  protected abstract valid(): readonly VerificationKey[]
}

/** A secret, and for a while its predecessor. A `kid` means nothing here. */
class SecretKeySet extends FixedKeySet {
  readonly #current: VerificationKey
  readonly #previous: VerificationKey | undefined
  readonly #previousUntilMs: number
  readonly #clock: Clock
  readonly #listener: KeySetListener
  #timer: Timer | undefined

  constructor(
    secret: Uint8Array,
    previous: { readonly secret: Uint8Array; readonly validUntilMs: number } | undefined,
    clock: Clock,
    listener: KeySetListener,
  ) {
    super()
    this.#listener = listener
    this.#current = secretKey(secret)
    if (previous !== undefined) this.#previous = secretKey(previous.secret)
    this.#previousUntilMs = previous?.validUntilMs ?? 0
    this.#clock = clock
  }

  override start(): Promise<void> {
    this.startNow()
    return Promise.resolve()
  }

  /** From here on whoever listens hears of the end of the previous secret. */
  override startNow(): void {
    const previous = this.#previous
    this.#timer?.cancel()
    if (previous === undefined) return
    const leftMs = this.#previousUntilMs - this.#clock.wallMs()
    if (leftMs <= 0) return
    this.#timer = this.#clock.after(leftMs, () => {
      // The wall clock may have been set back meanwhile.
      if (this.#clock.wallMs() < this.#previousUntilMs) this.startNow()
      else this.#listener.removed?.([previous.id])
    })
  }

  override stop(): void {
    this.#timer?.cancel()
  }

  protected override valid(): readonly VerificationKey[] {
    if (this.#previous === undefined || this.#clock.wallMs() >= this.#previousUntilMs) {
      return [this.#current]
    }
    return [this.#current, this.#previous]
  }
}

/** One public key, whatever `kid` a token names. */
class PublicKeySet extends FixedKeySet {
  readonly #key: VerificationKey

  constructor(key: VerificationKey) {
    super()
    this.#key = key
  }

  protected override valid(): readonly VerificationKey[] {
    return [this.#key]
  }
}

/** A key set in a file: it must be good at start, and may be replaced while the server runs. */
class JwksFileKeySet extends CachedKeySet {
  readonly #file: KeyFile
  readonly #firstFailure: () => string | undefined

  constructor(file: KeyFile, clock: Clock, listener: KeySetListener, times?: CacheTimes) {
    let failure: string | undefined
    const own: KeySetListener = {
      failed: (detail) => {
        failure ??= detail
        listener.failed?.(detail)
      },
      removed: (keyIds) => listener.removed?.(keyIds),
    }
    super(() => readBounded(file.path), clock, own, times)
    this.#file = file
    this.#firstFailure = () => failure
  }

  override async start(): Promise<void> {
    await super.start()
    const failure = this.#firstFailure()
    if (failure === undefined) return
    this.stop()
    throw unusable(this.#file, failure)
  }

  override startNow(): void {
    try {
      this.put(readKeyFile(this.#file, MAX_JWKS_BYTES).toString('utf8'))
    } catch (cause) {
      if (cause instanceof RespcastError) throw cause
      throw unusable(this.#file, cause instanceof Error ? cause.message : String(cause), cause)
    }
  }
}

function secretKey(secret: Uint8Array): VerificationKey {
  return { id: fingerprint(secret), kid: undefined, key: secret, algorithms: SECRET_ALGORITHMS }
}

/** A file with a key, and the directive that names it. */
interface KeyFile {
  readonly directive: string
  readonly path: string
}

function unusable(file: KeyFile, problem: string, cause?: unknown): RespcastError {
  return new RespcastError('ERR_CONFIG', `${file.directive} ${file.path}: ${problem}`, { cause })
}

function readKeyFile(file: KeyFile, maxBytes = Number.POSITIVE_INFINITY): Buffer {
  const { path } = file
  try {
    if (statSync(path).size <= maxBytes) return readFileSync(path)
  } catch (cause) {
    throw unusable(file, unreadable(cause), cause)
  }
  throw unusable(file, tooLong(maxBytes))
}

function unreadable(cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return `cannot be read: ${reason}. Name a file that the server may read.`
}

function tooLong(maxBytes: number): string {
  return `is longer than ${maxBytes} bytes`
}

function readSecret(file: KeyFile): Uint8Array {
  const bytes = readKeyFile(file)
  let end = bytes.length
  if (bytes[end - 1] === 0x0a) end--
  if (bytes[end - 1] === 0x0d && end < bytes.length) end--
  if (end < MIN_SECRET_BYTES) {
    throw unusable(file, `the secret must be at least ${MIN_SECRET_BYTES} bytes; it has ${end}`)
  }
  return Uint8Array.prototype.slice.call(bytes, 0, end)
}

function readPublicKey(file: KeyFile, algorithms: readonly string[]): VerificationKey {
  const pem = readKeyFile(file)
  const fail = (text: string): never => {
    throw unusable(file, text)
  }
  if (pem.includes('PRIVATE KEY-----'))
    fail('holds a private key; give the public key, the private one stays home')
  let key
  try {
    key = createPublicKey(pem)
  } catch {
    return fail('holds no PEM public key')
  }
  const able = algorithmsOf(key)
  const usable = algorithms.filter((name) => able.includes(name))
  if (usable.length === 0) {
    const can = able.length === 0 ? 'no supported algorithm' : able.join(', ')
    return fail(`holds a key for ${can}, not for ${algorithms.join(', ')}`)
  }
  return publicVerificationKey(key, undefined, usable)
}

async function readBounded(path: string): Promise<string> {
  // Without a cause: whoever reports the failure adds the text of one, and it is in this text already.
  const fail = (cause: unknown): never => {
    throw new Error(unreadable(cause))
  }
  const file = await open(path, 'r').catch(fail)
  try {
    const { size } = await file.stat()
    if (size > MAX_JWKS_BYTES) throw new Error(tooLong(MAX_JWKS_BYTES))
    return await file.readFile('utf8').catch(fail)
  } finally {
    await file.close()
  }
}
