import type { RespValue } from '../../../shared/resp/types.ts'
import type { Command } from './commands.ts'
import { fieldsOf } from './reply.ts'

/** Kinds of TOKEN REVOKE. */
export const REVOCATION_KINDS = [
  'SUB',
  'JTI',
  'GROUP',
  'ROLE',
  'KID',
  'KEY',
  'CHANNEL',
  'ISSUER',
  'ALL',
] as const

/** One of {@link REVOCATION_KINDS}. */
type RevocationKind = (typeof REVOCATION_KINDS)[number]

/** Display texts of each kind: the label of its field, and the effect. */
export const KIND_TEXTS: Readonly<Record<RevocationKind, readonly [field: string, text: string]>> =
  {
    SUB: ['Subject', 'All tokens of one subject that were issued until now.'],
    JTI: ['Token id', 'One token, by its jti.'],
    GROUP: ['Group', 'All tokens whose claim names this group, issued until now.'],
    ROLE: ['Role', 'All tokens that name this role, issued until now.'],
    KID: ['Key id', 'All tokens that the keys of this id verify, also those of the future.'],
    KEY: [
      'Thumbprint',
      'The same by the thumbprint of a key: for secrets, and keys without an id.',
    ],
    CHANNEL: [
      'Channel pattern',
      'Takes channels away from token sessions. A browser that is subscribed to one is closed and returns with the rest; ' +
        'with ws-revocation unsubscribe it stays connected and loses only that subscription.',
    ],
    ISSUER: ['Issuer alias', 'All tokens of one issuer that were issued until now.'],
    ALL: ['', 'All tokens of all issuers that were issued until now.'],
  }

/** Contents of the form of a revocation. */
export interface RevocationForm {
  readonly kind: RevocationKind
  readonly target: string
  /** Alias of the issuer; empty is any. */
  readonly from: string
  /** For channels: whose; empty is everybody's. */
  readonly forKind: '' | 'SUB' | 'ROLE' | 'GROUP'
  readonly forName: string
  readonly only: '' | 'SUBSCRIBE' | 'PUBLISH'
  /** As an `<input type="datetime-local">` has it; empty is now. */
  readonly before: string
  readonly hard: boolean
  readonly lasts: 'default' | 'ttl' | 'persist'
  readonly ttlSeconds: string
  readonly reason: string
  readonly message: string
}

/** An empty form. */
export const EMPTY_FORM: RevocationForm = {
  kind: 'SUB',
  target: '',
  from: '',
  forKind: '',
  forName: '',
  only: '',
  before: '',
  hard: false,
  lasts: 'default',
  ttlSeconds: '3600',
  reason: '',
  message: '',
}

/** The options that a kind takes. */
export function optionsOf(kind: RevocationKind): {
  readonly from: boolean
  readonly channel: boolean
  readonly issueTime: boolean
  readonly target: boolean
} {
  return {
    target: kind !== 'ALL',
    from: kind !== 'ISSUER' && kind !== 'ALL',
    channel: kind === 'CHANNEL',
    issueTime: kind !== 'JTI' && kind !== 'KID' && kind !== 'KEY' && kind !== 'CHANNEL',
  }
}

/** The command of a form. Fields that its kind does not take are left out; the server checks the rest. */
export function revokeCommand(form: RevocationForm, dryRun: boolean): Command {
  const takes = optionsOf(form.kind)
  const words: string[] = ['REVOKE', form.kind]
  if (takes.target) words.push(form.target)
  if (takes.channel && form.forKind !== '') words.push('FOR', form.forKind, form.forName)
  if (takes.from && form.from !== '') words.push('FROM', form.from)
  if (takes.channel && form.only !== '') words.push('ONLY', form.only)
  if (takes.issueTime && form.hard) words.push('HARD')
  else if (takes.issueTime && form.before !== '') {
    words.push('BEFORE', String(new Date(form.before).getTime()))
  }
  if (form.lasts === 'persist') words.push('PERSIST')
  else if (form.lasts === 'ttl') words.push('TTL', form.ttlSeconds)
  if (form.reason !== '') words.push('REASON', form.reason)
  if (form.message !== '') words.push('MESSAGE', form.message)
  if (dryRun) words.push('DRYRUN')
  return ['TOKEN', ...words]
}

/** A revocation in force, from TOKEN REVOCATIONS. Times are milliseconds since 1970. */
export interface RevocationRow {
  readonly id: number
  readonly kind: string
  readonly target: string
  /** The options, in the words of TOKEN REVOKE. */
  readonly options: string
  readonly atMs: number | undefined
  /** Undefined for no expiry. */
  readonly expiresAtMs: number | undefined
  readonly by: string
  readonly reason: string
  /** Number of live sessions that it has hit. */
  readonly hit: number
}

/** Reads one record of TOKEN REVOCATIONS. */
export function parseRevocation(record: RespValue): RevocationRow {
  const text = fieldsOf(record)
  const options: string[] = []
  if (text('for') !== '') options.push(`FOR ${text('for')}`)
  if (text('issuer') !== '') options.push(`FROM ${text('issuer')}`)
  if (text('only') !== '') options.push(`ONLY ${text('only')}`)
  if (text('hard') === '1') options.push('HARD')
  return {
    id: Number(text('id')),
    kind: text('kind').toUpperCase(),
    target: text('target'),
    options: options.join(' '),
    atMs: timeOf(text('at')),
    expiresAtMs: timeOf(text('expires')),
    by: text('by'),
    reason: text('reason'),
    hit: Number(text('hit')),
  }
}

function timeOf(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}
