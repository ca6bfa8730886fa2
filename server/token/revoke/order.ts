import { isOfKey, issuerLabel, REVOCATION_KINDS } from './revocation.ts'
import type { Revocation, RevocationKind, RevocationOrder, RevocationScope } from './revocation.ts'
import { fromByteString } from '../text.ts'
import type { ErrorLine } from '../../resp/reply-writer.ts'
import { BAD_WAIT, readWait, type Wait } from './wait.ts'

/** The settings of an issuer that decide how long its tokens may live. */
export interface IssuerTerms {
  readonly alias: string | undefined
  readonly leewaySeconds: number
  readonly maxLifetimeSeconds: number
}

/** The circumstances under which an order is parsed. */
interface OrderTerms {
  /** Wall clock. */
  readonly nowMs: number
  /** The issuers that are configured. */
  readonly issuers: readonly IssuerTerms[]
}

/** An order, or the error reply to the command. */
export type ReadOrder =
  | {
      readonly order: RevocationOrder
      readonly dryRun: boolean
      /** WAIT: see {@link readWait}. */
      readonly wait: Wait | undefined
    }
  | { readonly error: ErrorLine }

/** Longest REASON and MESSAGE, in bytes. */
const MOST_TEXT_BYTES = 1_024

/** Longest target, in bytes: names in tokens have 256 at most, channel patterns and key ids no limit of their own. */
const MOST_NAME_BYTES = 256
const MOST_PATTERN_BYTES = 1_024

/** A hundred years; PERSIST is for longer ones. */
const MOST_TTL_SECONDS = 3_155_760_000

/** A smaller time in milliseconds lies before 1974, and was most likely meant in seconds. */
const LEAST_BEFORE_MS = 100_000_000_000

/** The last millisecond that a `Date` can hold. */
const LAST_MS = 8_640_000_000_000_000

const TARGET_WORDS: Readonly<Record<Exclude<RevocationKind, 'all'>, string>> = {
  jti: 'a token id',
  sub: 'a subject',
  group: 'a group',
  role: 'a role',
  kid: 'a key id',
  key: 'the thumbprint of a key',
  issuer: 'the alias of an issuer',
  channel: 'a channel pattern',
}

/** Thrown within this module, and answered as an error reply. */
class OrderFault extends Error {}

/** Options as they were given. */
interface Options {
  from?: string
  scope?: RevocationScope
  only?: 'subscribe' | 'publish'
  before?: number
  hard?: true
  ttl?: number
  persist?: true
  reason?: string
  message?: string
  dryrun?: true
  wait?: Wait
}

/**
 * Parses the words after `TOKEN REVOKE`, and applies its rules: the options that go with each kind, the least time that a record
 * has to live, and the defaults.
 *
 * @param words Byte strings.
 */
export function readOrder(words: readonly string[], terms: OrderTerms): ReadOrder {
  try {
    const kind = readKind(words[0] ?? '')
    const target = kind === 'all' ? '' : readTarget(kind, words[1])
    const options = readOptions(words.slice(kind === 'all' ? 1 : 2))
    checkOptions(kind, options)
    const order = build(kind, target, options, terms)
    return { order, dryRun: options.dryrun === true, wait: options.wait }
  } catch (error) {
    if (error instanceof OrderFault) return { error: `ERR ${error.message}` }
    throw error
  }
}

function readKind(word: string): RevocationKind {
  const kind = REVOCATION_KINDS.find((known) => known === word.toLowerCase())
  if (kind !== undefined) return kind
  const known = REVOCATION_KINDS.map((each) => each.toUpperCase()).join(', ')
  throw new OrderFault(`Unknown kind of revocation '${shorten(word)}'. Use one of ${known}`)
}

function readTarget(kind: Exclude<RevocationKind, 'all'>, word: string | undefined): string {
  if (word === undefined) {
    throw new OrderFault(`TOKEN REVOKE ${kind.toUpperCase()} needs ${TARGET_WORDS[kind]}`)
  }
  return checkName(kind, word)
}

function checkName(kind: Exclude<RevocationKind, 'all'>, word: string): string {
  // An operator who copies the name of the ACL user means the role.
  const name = kind === 'role' ? word.replace(/^role:/, '') : word
  if (kind === 'channel' || kind === 'kid') {
    if (name.length <= MOST_PATTERN_BYTES && (name !== '' || kind === 'channel')) return name
    throw new OrderFault(`${TARGET_WORDS[kind]} has at most ${MOST_PATTERN_BYTES} bytes`)
  }
  if (kind === 'key') return readThumbprint(word)
  if (name !== '' && name.length <= MOST_NAME_BYTES && !/[\u0000- \u007f]/.test(name)) return name
  throw new OrderFault(
    `${TARGET_WORDS[kind]} is 1 to ${MOST_NAME_BYTES} bytes without white space or controls`,
  )
}

/** Reads 32 bytes in base64url or as hexadecimal digits. @returns Base64url. */
function readThumbprint(word: string): string {
  const bytes = /^[0-9a-f]{64}$/i.test(word)
    ? Buffer.from(word, 'hex')
    : Buffer.from(word, 'base64url')
  const thumbprint = bytes.toString('base64url')
  if (bytes.length === 32 && (word.length === 64 || word === thumbprint)) return thumbprint
  throw new OrderFault(
    `${TARGET_WORDS.key} is 43 characters of base64url or 64 hexadecimal digits, as TOKEN EXPLAIN and CLIENT LIST show it`,
  )
}

function readOptions(words: readonly string[]): Options {
  const options: Options = {}
  let at = 0
  const value = (name: string): string => {
    const word = words[at++]
    if (word === undefined) throw new OrderFault(`Option ${name} needs a value`)
    return word
  }
  const set = <K extends keyof Options>(key: K, name: string, given: Options[K]): void => {
    if (options[key] !== undefined) throw new OrderFault(`Option ${name} is given twice`)
    options[key] = given
  }
  for (let word = words[at++]; word !== undefined; word = words[at++]) {
    const name = word.toUpperCase()
    switch (name) {
      case 'FROM':
        set('from', name, value(name))
        break
      case 'FOR':
        set(
          'scope',
          name,
          readScope(value(name), () => value('FOR')),
        )
        break
      case 'ONLY':
        set('only', name, readDirection(value(name)))
        break
      case 'BEFORE':
        set('before', name, readBefore(value(name)))
        break
      case 'TTL':
        set('ttl', name, readTtl(value(name)))
        break
      case 'HARD':
        set('hard', name, true)
        break
      case 'PERSIST':
        set('persist', name, true)
        break
      case 'DRYRUN':
        set('dryrun', name, true)
        break
      case 'WAIT': {
        const wait = readWait(value(name), value(name))
        if (wait === undefined) throw new OrderFault(BAD_WAIT)
        set('wait', name, wait)
        break
      }
      case 'REASON':
        set('reason', name, readText(name, value(name)))
        break
      case 'MESSAGE':
        set('message', name, readText(name, value(name)))
        break
      default:
        throw new OrderFault(`Unknown option '${shorten(word)}' for TOKEN REVOKE`)
    }
  }
  return options
}

function readScope(word: string, value: () => string): RevocationScope {
  const kind = word.toLowerCase()
  if (kind !== 'sub' && kind !== 'role' && kind !== 'group') {
    throw new OrderFault('FOR must be followed by SUB, ROLE or GROUP and a name')
  }
  return { kind, name: checkName(kind, value()) }
}

function readDirection(word: string): 'subscribe' | 'publish' {
  const direction = word.toLowerCase()
  if (direction === 'subscribe' || direction === 'publish') return direction
  throw new OrderFault('ONLY must be followed by SUBSCRIBE or PUBLISH')
}

function readBefore(word: string): number {
  const ms = /^\d{1,16}$/.test(word) ? Number(word) : Number.NaN
  if (!(ms <= LAST_MS)) throw new OrderFault('BEFORE is not a time in milliseconds since 1970')
  if (ms >= LEAST_BEFORE_MS) return ms
  throw new OrderFault(
    'BEFORE is a time in milliseconds since 1970, and this one looks like seconds',
  )
}

function readTtl(word: string): number {
  const seconds = /^\d{1,15}$/.test(word) ? Number(word) : Number.NaN
  if (seconds >= 1 && seconds <= MOST_TTL_SECONDS) return seconds
  throw new OrderFault('TTL is not a number of seconds, at least 1; use PERSIST for no end')
}

function readText(name: string, word: string): string {
  if (word.length <= MOST_TEXT_BYTES) return fromByteString(word)
  throw new OrderFault(`${name} has at most ${MOST_TEXT_BYTES} bytes`)
}

/** Refuses options that exclude each other, and those that make no sense for a kind. */
function checkOptions(kind: RevocationKind, options: Options): void {
  const word = kind.toUpperCase()
  const refuse = (isGiven: boolean, name: string): void => {
    if (isGiven) throw new OrderFault(`${name} does not apply to ${word}`)
  }
  refuse(options.from !== undefined && (kind === 'issuer' || kind === 'all'), 'FROM')
  refuse(options.scope !== undefined && kind !== 'channel', 'FOR')
  refuse(options.only !== undefined && kind !== 'channel', 'ONLY')
  const ignoresIssueTime = !looksAtIssueTime(kind)
  refuse(options.before !== undefined && ignoresIssueTime, 'BEFORE')
  refuse(options.hard === true && ignoresIssueTime, 'HARD')
  if (options.hard && options.before !== undefined) {
    throw new OrderFault('HARD and BEFORE exclude each other')
  }
  if (options.persist && options.ttl !== undefined) {
    throw new OrderFault('TTL and PERSIST exclude each other')
  }
  if (options.dryrun && options.wait) throw new OrderFault('DRYRUN and WAIT exclude each other')
  const mustSay = options.hard || kind === 'channel'
  if (mustSay && options.ttl === undefined && !options.persist) {
    throw new OrderFault(`${kind === 'channel' ? word : 'HARD'} needs TTL or PERSIST`)
  }
}

function build(
  kind: RevocationKind,
  target: string,
  options: Options,
  { nowMs, issuers }: OrderTerms,
): RevocationOrder {
  const from = kind === 'issuer' ? target : options.from
  const named = issuers.filter(({ alias }) => from === undefined || issuerLabel(alias) === from)
  if (named.length === 0) {
    throw new OrderFault(
      from === undefined
        ? 'No issuer of tokens is configured'
        : `No issuer '${shorten(from)}' is configured; the one without an alias is 'default'`,
    )
  }
  const leewayMs = 1000 * Math.max(...named.map(({ leewaySeconds }) => leewaySeconds))
  const lifetimeMs = 1000 * Math.max(...named.map((each) => each.maxLifetimeSeconds))
  const looksAtIt = looksAtIssueTime(kind) && !options.hard
  const beforeMs = looksAtIt ? (options.before ?? Math.floor(nowMs) + leewayMs) : undefined
  // The last token that is named was issued at BEFORE at the latest, and lives as long as any may.
  const leastMs = lifetimeMs + Math.max(leewayMs, (beforeMs ?? 0) - nowMs)
  return {
    kind,
    target,
    issuer: kind === 'issuer' ? undefined : options.from,
    scope: options.scope,
    only: options.only,
    beforeMs,
    hard: options.hard === true,
    issuedByMs:
      beforeMs === undefined && kind !== 'channel' ? Math.floor(nowMs) + leewayMs : undefined,
    expiresAtMs: expiryOf(kind, options, nowMs, leastMs),
    reason: options.reason ?? '',
    message: options.message ?? '',
  }
}

function expiryOf(
  kind: RevocationKind,
  { ttl, persist }: Options,
  nowMs: number,
  leastMs: number,
): number | undefined {
  if (persist || (isOfKey(kind) && ttl === undefined)) return undefined
  const least = Math.ceil(leastMs / 1000)
  if (ttl !== undefined && kind !== 'channel' && ttl < least) {
    throw new OrderFault(
      `TTL is too small: tokens that this names may be valid for another ${least} seconds`,
    )
  }
  return Math.ceil(nowMs) + (ttl ?? least) * 1000
}

/** Reports whether a kind goes by `iat`. Whoever stole a key mints new tokens, and a channel is denied to all of them. */
function looksAtIssueTime(kind: RevocationKind): boolean {
  return kind !== 'jti' && kind !== 'channel' && !isOfKey(kind)
}

function shorten(word: string): string {
  return word.slice(0, 128)
}

/** The options of a record in the words of TOKEN REVOKE. */
export function optionsOf(record: Revocation): string {
  const { issuer, scope, only, beforeMs, hard, expiresAtMs } = record
  const words: string[] = []
  if (scope) words.push('FOR', scope.kind.toUpperCase(), scope.name)
  if (issuer !== undefined) words.push('FROM', issuer)
  if (only) words.push('ONLY', only.toUpperCase())
  if (hard) words.push('HARD')
  if (beforeMs !== undefined) words.push('BEFORE', String(beforeMs))
  if (expiresAtMs === undefined) words.push('PERSIST')
  else words.push('TTL', String(Math.round((expiresAtMs - record.atMs) / 1000)))
  return words.join(' ')
}
