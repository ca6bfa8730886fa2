import { asciiJson } from '../ascii-json.ts'
import type { Entry, Order } from './entry.ts'
import type { NodeRecord } from './node.ts'
import type { Register } from './register.ts'
import { UNSIGNED, type Mac, type Signature } from './signature.ts'
import type { LoggedEntry } from './store.ts'

/** Most registers of one entry: the upstream does nothing else while it writes them. */
export const MOST_REGISTERS = 1_000

/** Most UTF-16 units of a register's key, of its value, and of the other texts of an entry. */
const KEY_UNITS = 1_024
const VALUE_UNITS = 262_144
const TEXT_UNITS = 1_024

/** Most bytes of an entry, and of a gateway's record, as they are written. */
const BODY_BYTES = 2_097_152
const NODE_BYTES = 16_384

/** Why something that was read is not taken. */
export type Rejection = 'unsigned' | 'forged' | 'broken'

const UUID = /^[0-9a-f]{16}$/
const STREAM_ID = /^\d{1,20}-\d{1,20}$/
const PART = /^[a-z]{1,8}$/
const REGISTER_KEY = /^[a-z]{1,8}:[\x00-\xff]+$/
const BYTES = /^[\x00-\xff]*$/
const ASCII = /^[\x20-\x7e]*$/

/** Stands for the id of the entry before the first one. */
const NO_ID = '-'

/** @returns Undefined if it is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown, most: number, pattern = BYTES): value is string {
  return typeof value === 'string' && value.length <= most && pattern.test(value)
}

function isCount(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least
}

/** The body of an entry: what is signed, logged and published. */
export function encodeEntry(entry: Entry): string {
  const { uuid, origin, atMs, registers, order } = entry
  return asciiJson({
    uuid,
    node: origin.node,
    user: origin.user,
    address: origin.address,
    atMs: Math.trunc(atMs),
    registers: registers.map(({ key, version, uuid: own, value }) => [
      key,
      version,
      own,
      value ?? null,
    ]),
    order: order === undefined ? null : [order.part, order.value],
  })
}

/**
 * Reads the body of an entry.
 *
 * @returns Undefined where it is not exactly what {@link encodeEntry} makes of an entry within the limits.
 */
export function decodeEntry(body: string): Entry | undefined {
  if (body.length > BODY_BYTES || !ASCII.test(body)) return undefined
  const found = parseJson(body)
  if (!isObject(found)) return undefined
  const { uuid, node, user, address, atMs } = found
  const registers = registersOf(found['registers'])
  const order = orderOf(found['order'])
  if (!isText(uuid, TEXT_UNITS, UUID) || !isText(node, TEXT_UNITS)) return undefined
  if (!isText(user, TEXT_UNITS) || !isText(address, TEXT_UNITS) || !isCount(atMs, 0))
    return undefined
  if (registers === undefined || order === undefined) return undefined
  const origin = { node, user, address }
  const entry: Entry = { uuid, origin, atMs, registers, order: order ?? undefined }
  // A field that is unknown, repeated or written otherwise would be read in one way here and in another elsewhere.
  return encodeEntry(entry) === body ? entry : undefined
}

function registersOf(value: unknown): Register[] | undefined {
  if (!Array.isArray(value) || value.length > MOST_REGISTERS) return undefined
  const registers: Register[] = []
  const keys = new Set<string>()
  for (const item of value as readonly unknown[]) {
    if (!Array.isArray(item)) return undefined
    const [key, version, uuid, content] = item as readonly unknown[]
    if (!isText(key, KEY_UNITS, REGISTER_KEY) || keys.has(key)) return undefined
    if (!isCount(version, 1) || !isText(uuid, TEXT_UNITS, UUID)) return undefined
    if (content !== null && !isText(content, VALUE_UNITS)) return undefined
    keys.add(key)
    registers.push({ key, version, uuid, value: content ?? undefined })
  }
  return registers
}

/** @returns Null where there is none, undefined where it cannot be read. */
function orderOf(value: unknown): Order | null | undefined {
  if (value === null) return null
  if (!Array.isArray(value)) return undefined
  const [part, content] = value as readonly unknown[]
  if (!isText(part, TEXT_UNITS, PART) || !isText(content, VALUE_UNITS)) return undefined
  return { part, value: content }
}

/**
 * Finds out why an entry cannot be written.
 *
 * @param body Of {@link encodeEntry}.
 * @returns A sentence; undefined if everybody can read it.
 */
export function problemOfEntry(entry: Entry, body: string): string | undefined {
  if (entry.registers.length > MOST_REGISTERS) {
    return `a change of more than ${MOST_REGISTERS} users or revocations cannot be shared: make it in parts`
  }
  if (body.length > BODY_BYTES) {
    return `a change of more than ${BODY_BYTES} bytes cannot be shared: make it in parts`
  }
  return decodeEntry(body) === undefined
    ? `a name of more than ${KEY_UNITS} bytes, or a value of more than ${VALUE_UNITS}, cannot be shared: make it shorter`
    : undefined
}

/** The text that an entry's signature is over. */
export function signedOfEntry(namespace: string, body: string): string {
  return `entry:${namespace}:${body}`
}

/** An entry as the log has it. */
export interface LogRow {
  readonly id: string
  readonly previous: string
  readonly mac: string
  readonly body: string
}

/** Verifies and reads an entry of the log, or one that was published. */
export function readRow(
  namespace: string,
  signature: Signature,
  { id, previous, mac, body }: LogRow,
): LoggedEntry | Rejection {
  const isPlaced = STREAM_ID.test(id) && (previous === NO_ID || STREAM_ID.test(previous))
  if (!isPlaced || body.length > BODY_BYTES) return 'broken'
  const problem = signature.problemOf(signedOfEntry(namespace, body), mac)
  if (problem !== undefined) return problem
  const entry = decodeEntry(body)
  if (entry === undefined) return 'broken'
  return { id, previous: previous === NO_ID ? '' : previous, entry }
}

/** A message of the channel of entries: `<previous id> <id> <mac> <body>`. */
export function encodeMessage({ id, previous, mac, body }: LogRow): string {
  return `${previous === '' ? NO_ID : previous} ${id} ${mac} ${body}`
}

/** Takes a message of the channel of entries apart; undefined if it has another form. */
export function splitMessage(payload: Buffer): LogRow | undefined {
  const text = payload.toString('latin1')
  const [, previous = '', id = '', mac = '', body = ''] =
    /^(\S{1,41}) (\S{1,41}) (\S{1,64}) (.*)$/s.exec(text) ?? []
  return body === '' ? undefined : { previous, id, mac, body }
}

/**
 * A register as the state has it: `<version> <uuid> <id> <mac> <value>`, where the id is that of the entry that wrote it, which the
 * upstream gives, and the value is JSON.
 */
export interface RegisterLine {
  /** What comes before the id, and after it, without the spaces. */
  readonly stamp: string
  readonly content: string
}

/** The text that a register's signature is over. */
function signedOfRegister(namespace: string, stamp: string, key: string, json: string): string {
  return `register:${namespace}:${stamp} ${key.length}:${key} ${json}`
}

/** Signs and writes a register. */
export function encodeRegister(
  namespace: string,
  signature: Signature,
  { key, version, uuid, value }: Register,
): RegisterLine {
  const stamp = `${version} ${uuid}`
  const json = asciiJson(value ?? null)
  const mac = signature.sign(signedOfRegister(namespace, stamp, key, json))
  return { stamp, content: `${mac} ${json}` }
}

const LINE = /^(\d{1,16}) ([0-9a-f]{16}) \d{1,20}-\d{1,20} (\S{1,64}) (null|"[\x20-\x7e]*")$/

/** Verifies and reads a register of the state. */
export function readRegister(
  namespace: string,
  signature: Signature,
  key: string,
  line: string,
): Register | Rejection {
  const [, digits = '', uuid = '', mac = '', json = ''] = LINE.exec(line) ?? []
  if (!isText(key, KEY_UNITS, REGISTER_KEY) || json === '') return 'broken'
  const stamp = `${digits} ${uuid}`
  const problem = signature.problemOf(signedOfRegister(namespace, stamp, key, json), mac)
  if (problem !== undefined) return problem
  const version = Number(digits)
  if (!isCount(version, 1) || `${version}` !== digits) return 'broken'
  const value = json === 'null' ? undefined : parseJson(json)
  if (value !== undefined && !isText(value, VALUE_UNITS)) return 'broken'
  if (value === undefined && json !== 'null') return 'broken'
  return { key, version, uuid: detached(uuid), value }
}

/** A text with memory of its own: a part of another text holds all of that. */
function detached(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** A gateway's record as the registry has it. Its id and its number stand beside it. */
export function encodeNode(record: NodeRecord): string {
  const { name, version, addresses, startedAtMs, clients, sessions, subscriptions } = record
  const { applied, isDraining, digests, parts } = record
  return asciiJson({
    ...{ name, version, addresses, startedAtMs, clients, sessions, subscriptions },
    ...{ applied, isDraining, digests, parts },
  })
}

/**
 * Reads a gateway's record. Unlike an entry it is taken whatever it is, each field for itself: a gateway of another version, which
 * writes more or less, has to confirm as any other.
 */
export function decodeNode(id: string, number: number, text: string): NodeRecord {
  const parsed = text.length <= NODE_BYTES ? parseJson(text) : undefined
  const fields = isObject(parsed) ? parsed : {}
  const addresses = isObject(fields['addresses']) ? fields['addresses'] : {}
  const digests = isObject(fields['digests']) ? fields['digests'] : {}
  const parts = Array.isArray(fields['parts']) ? (fields['parts'] as readonly unknown[]) : []
  const textOf = (value: unknown): string => (isText(value, TEXT_UNITS) ? value : '')
  const countOf = (value: unknown): number => (isCount(value, 0) ? value : 0)
  return {
    id,
    number,
    name: textOf(fields['name']) || id,
    version: textOf(fields['version']),
    addresses: {
      resp: textOf(addresses['resp']),
      http: textOf(addresses['http']),
      admin: textOf(addresses['admin']),
    },
    startedAtMs: countOf(fields['startedAtMs']),
    clients: countOf(fields['clients']),
    sessions: countOf(fields['sessions']),
    subscriptions: countOf(fields['subscriptions']),
    applied: textOf(fields['applied']),
    isDraining: fields['isDraining'] === true,
    digests: { issuers: textOf(digests['issuers']), acl: textOf(digests['acl']) },
    parts: parts.filter((part) => isText(part, TEXT_UNITS, PART)),
  }
}

/** An unsigned row: for those who have no key. */
export function unsignedRow(id: string, previous: string, body: string): LogRow & { mac: Mac } {
  return { id, previous, mac: UNSIGNED, body }
}
