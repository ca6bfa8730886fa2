import { asciiJson } from '../../ascii-json.ts'
import { isJsonObject } from '../text.ts'
import { REVOCATION_KINDS, type Revocation } from './revocation.ts'

/** Texts whose records are remembered; beyond it all of them are forgotten. */
const MOST_REMEMBERED = 2_048

/**
 * Reads records from their text, the value of a register. Of each text there is one record: whoever judges it, puts it in force and
 * writes it down reads it once, and compares records rather than texts.
 */
export class RecordTexts {
  readonly #records = new Map<string, Revocation>()

  /**
   * Reads the value of a register.
   *
   * @returns Undefined if it is not what {@link asciiJson} makes of a record that this version knows. A field that it does not know could
   *   say that the record holds for fewer.
   */
  read(text: string): Revocation | undefined {
    const known = this.#records.get(text)
    if (known !== undefined) return known
    const record = readRecord(text)
    if (record === undefined) return undefined
    if (this.#records.size >= MOST_REMEMBERED) this.#records.clear()
    this.#records.set(text, record)
    return record
  }

  /** Reports whether a text is that of a record. */
  isOf(record: Revocation, text: string): boolean {
    return this.#records.get(text) === record || asciiJson(record) === text
  }
}

type Fields = { readonly [Name in keyof Revocation]?: unknown }

/** Reports whether the fields are those of a record, each of its type; those that may be left out may be undefined. */
function isRecord(fields: Fields): fields is Revocation {
  const { id, kind, target, keys, issuer, scope, only, beforeMs, hard } = fields
  const { expiresAtMs, issuedByMs, reason, message, by, atMs, hit } = fields
  return (
    isTime(id) &&
    id > 0 &&
    (REVOCATION_KINDS as readonly unknown[]).includes(kind) &&
    isText(target) &&
    (keys === undefined || (Array.isArray(keys) && keys.every(isText))) &&
    (issuer === undefined || isText(issuer)) &&
    (scope === undefined || isScope(scope)) &&
    (only === undefined || only === 'subscribe' || only === 'publish') &&
    isOptionalTime(beforeMs) &&
    typeof hard === 'boolean' &&
    isOptionalTime(expiresAtMs) &&
    isOptionalTime(issuedByMs) &&
    isText(reason) &&
    isText(message) &&
    isText(by) &&
    isTime(atMs) &&
    isTime(hit) &&
    // It names everybody, and is of one gateway alone.
    fields.isMerged === undefined
  )
}

/** The fields that this version knows. */
const NAMES: Readonly<Record<Exclude<keyof Revocation, 'isMerged'>, true>> = {
  ...{ id: true, kind: true, target: true, keys: true, issuer: true, scope: true, only: true },
  ...{ beforeMs: true, hard: true, expiresAtMs: true, issuedByMs: true, reason: true },
  ...{ message: true, by: true, atMs: true, hit: true },
}

function readRecord(value: string): Revocation | undefined {
  let read: unknown
  try {
    read = JSON.parse(value)
  } catch {
    return undefined
  }
  if (!isJsonObject(read) || !isRecord(read)) return undefined
  for (const name in read) if (!Object.hasOwn(NAMES, name)) return undefined
  return asciiJson(read) === value ? read : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isScope(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    ['sub', 'role', 'group'].includes(value['kind'] as string) &&
    isText(value['name'])
  )
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isOptionalTime(value: unknown): boolean {
  return value === undefined || isTime(value)
}
