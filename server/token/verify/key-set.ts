import { createPublicKey } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Clock, Timer } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import { issuerDirective, MIN_SECRET_BYTES, pinnedAlgorithms } from './issuer.ts'
import type { Issuer, PreviousSecret } from './issuer.ts'
import { JwksCache } from './jwks-cache.ts'
import type { CacheTimes } from './jwks-cache.ts'
import { fetchText } from './key-fetch.ts'
import type { Fetch } from './key-fetch.ts'
import { algorithmsOf, MAX_JWKS_BYTES, publicKey, secretKey, withoutLineEnd } from './keys.ts'
import type { KeyNames, VerificationKey } from './keys.ts'

/** Time for one request of a key set URL, first byte to last. */
const FETCH_TIMEOUT_MS = 5000

/** The keys of one issuer. */
export interface KeySet {
  /**
   * Loads the keys before the first token comes.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used. A URL that fails is tried again later instead.
   */
  start(): Promise<void>
  /**
   * As {@link start}, in this turn: files are read at once, and URLs are fetched in the background.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used.
   */
  startNow(): void
  /** Ids of the keys that are trusted now. */
  ids(): readonly string[]
  /** Names of all keys that are held, those included that are no longer or not yet trusted. */
  names(): readonly KeyNames[]
  /** The reason why the last attempt to load keys failed: a key that is missing may exist. */
  readonly outage: string | undefined
  /**
   * Takes over the sessions that keys of a predecessor admitted, until it is known which of them are in this set: then
   * {@link KeySetListener.removed} hears of the others. A set that is complete already takes over nothing.
   */
  inherit(keyIds: readonly string[]): void
  /** The keys that may verify a token of this header; may look for new keys first. Never rejects. */
  candidates(algorithm: string, kid: string | undefined): Promise<readonly VerificationKey[]>
  /** Reports whether the key that once verified a token is still trusted. */
  holds(keyId: string): boolean
  stop(): void
}

/** Receives the changes of a key set. */
export interface KeySetListener {
  /** A load failed; the sentence is for the log. */
  failed?(detail: string): void
  /** Keys were loaded, and verify from now on. */
  loaded?(): void
  /** Keys were taken out; sessions that they admitted are to end. */
  removed?(keyIds: readonly string[]): void
}

/**
 * Builds the key set of an issuer. Files with a secret or a PEM key are read at once; a key set file is read at
 * `start`, again every few minutes, and when a token names a key that it does not hold.
 *
 * @param options `times`: of sets that are loaded again, from files and URLs.
 * @throws RespcastError `ERR_CONFIG` if a file cannot be read, or holds no fitting key.
 */
export function createKeySet(
  issuer: Issuer,
  options: {
    readonly clock: Clock
    readonly fetch: Fetch
    readonly listener: KeySetListener
    readonly times?: CacheTimes | undefined
  },
): KeySet {
  const { clock, fetch, listener, times } = options
  const source = issuer.keys
  const file = (path: string, name: string = source.kind): KeyFile => ({
    directive: issuerDirective(issuer, name),
    path,
  })
  const secretKeys = (secret: Uint8Array, previous: PreviousSecret | undefined): KeySet => {
    if (previous === undefined) return new FixedKeySet(secretKey(secret), clock, listener)
    const { validUntilMs } = previous
    const old =
      'path' in previous
        ? readSecretFile(file(previous.path, 'previous-secret-file'))
        : previous.secret
    const predecessor = { key: secretKey(old), validUntilMs }
    return new FixedKeySet(secretKey(secret), clock, listener, predecessor)
  }
  switch (source.kind) {
    case 'secret':
      return secretKeys(source.secret, source.previous)
    case 'secret-file':
      return secretKeys(readSecretFile(file(source.path)), source.previous)
    case 'public-key-file': {
      const key = readPublicKey(file(source.path), pinnedAlgorithms(issuer))
      return new FixedKeySet(key, clock, listener)
    }
    case 'jwks-file': {
      const jwksFile = file(source.path)
      const fileSource = {
        load: () => readBounded(source.path),
        loadNow: () => readKeyFile(jwksFile, MAX_JWKS_BYTES).toString('utf8'),
        unusable: (problem: string, cause?: unknown) => unusable(jwksFile, problem, cause),
      }
      return new JwksCache(fileSource, clock, listener, times)
    }
    case 'jwks-url': {
      const bounds = { timeoutMs: FETCH_TIMEOUT_MS, maxBytes: MAX_JWKS_BYTES }
      const load = (): Promise<string> => fetchText(fetch, source.url, bounds, clock)
      return new JwksCache({ load }, clock, listener, times)
    }
  }
}

/** One key that never changes, and for a while its predecessor. A `kid` means nothing here. */
class FixedKeySet implements KeySet {
  readonly outage = undefined
  readonly #current: VerificationKey
  readonly #clock: Clock
  readonly #listener: KeySetListener
  readonly #previous: { readonly key: VerificationKey; readonly validUntilMs: number } | undefined
  #timer: Timer | undefined

  constructor(
    current: VerificationKey,
    clock: Clock,
    listener: KeySetListener,
    previous?: { readonly key: VerificationKey; readonly validUntilMs: number },
  ) {
    this.#current = current
    this.#clock = clock
    this.#listener = listener
    this.#previous = previous
  }

  start(): Promise<void> {
    this.startNow()
    return Promise.resolve()
  }

  /** Starts the timer that reports the end of the predecessor. */
  startNow(): void {
    const previous = this.#previous
    this.#timer?.cancel()
    if (previous === undefined) return
    const leftMs = previous.validUntilMs - this.#clock.wallMs()
    if (leftMs <= 0) return
    this.#timer = this.#clock.after(leftMs, () => {
      // The wall clock may have been set back meanwhile.
      if (this.#clock.wallMs() < previous.validUntilMs) this.startNow()
      else this.#listener.removed?.([previous.key.id])
    })
  }

  /** All keys are known from the beginning. */
  inherit(): void {}

  stop(): void {
    this.#timer?.cancel()
  }

  ids(): readonly string[] {
    return this.#valid().map((key) => key.id)
  }

  names(): readonly KeyNames[] {
    const previous = this.#previous
    return previous ? [this.#current.names, previous.key.names] : [this.#current.names]
  }

  holds(keyId: string): boolean {
    return this.#valid().some((key) => key.id === keyId)
  }

  candidates(algorithm: string): Promise<readonly VerificationKey[]> {
    return Promise.resolve(this.#valid().filter((key) => key.algorithms.includes(algorithm)))
  }

  #valid(): readonly VerificationKey[] {
    const previous = this.#previous
    return previous === undefined || this.#clock.wallMs() >= previous.validUntilMs
      ? [this.#current]
      : [this.#current, previous.key]
  }
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

/**
 * Reads a secret, without the line end behind it.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive: the file cannot be read, or its secret is too short.
 */
export function readSecretFile(file: KeyFile): Uint8Array {
  const secret = withoutLineEnd(readKeyFile(file))
  if (secret.length < MIN_SECRET_BYTES) {
    throw unusable(
      file,
      `the secret must be at least ${MIN_SECRET_BYTES} bytes; it has ${secret.length}`,
    )
  }
  return Uint8Array.prototype.slice.call(secret)
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
  return publicKey(key, undefined, usable)
}

async function readBounded(path: string): Promise<string> {
  // Without a cause: its text would be reported twice.
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
