import { asciiJson } from '../../ascii-json.ts'
import type { CommitRequest } from '../../control/control.ts'
import { IDS_PER_NODE } from '../../control/node.ts'
import type { Change, SharedPart } from '../../control/part.ts'
import type { Register } from '../../control/register.ts'
import { isJsonObject } from '../text.ts'
import type { Enforcement } from './enforcement.ts'
import { idOf, keyOf, REVOCATION_KINDS, REVOCATION_PREFIX, type Revocation } from './revocation.ts'
import type { RevocationTable } from './table.ts'

/**
 * The revocations that gateways share: the name of a register is the id of a record, and its value the record as JSON. A deleted
 * register is a revocation that was lifted.
 */
export class SharedRevocations implements SharedPart {
  readonly prefix = REVOCATION_PREFIX
  /** The journal is in the file that the revocations are read from. */
  readonly restoresItself = true
  /** A record ends when no token that it names can be valid. */
  readonly forgets = true
  readonly #table: RevocationTable
  readonly #enforcement: Enforcement
  /** What {@link accepts} has read, by its text, for {@link apply}: reading is most of the work where there are very many. */
  readonly #accepted = new Map<string, Revocation>()

  constructor(table: RevocationTable, enforcement: Enforcement) {
    this.#table = table
    this.#enforcement = enforcement
  }

  /**
   * Called with the name of a record that is in force here and differs from its register, or has none yet: it holds against further
   * keys, or has another id. It is to be committed, as what is local first.
   */
  set onUncommitted(listener: (name: string) => void) {
    this.#enforcement.onUncommitted = (record) => listener(String(record.id))
  }

  /** Settles when the sessions of a record that is in force here have lost what it takes. */
  async cutOf(name: string): Promise<void> {
    await this.#enforcement.cutOf(Number(name))
  }

  /** The change to commit for a record that was put in force here, or taken back; undefined where it is of this gateway alone. */
  changeOf({ id, isMerged }: Revocation): CommitRequest['changes'][number] | undefined {
    if (id < IDS_PER_NODE || isMerged === true) return undefined
    return { key: keyOf(id), value: this.valueOf(String(id)) }
  }

  *names(): IterableIterator<string> {
    for (const { id } of this.#records()) if (id >= IDS_PER_NODE) yield String(id)
  }

  valueOf(name: string): string | undefined {
    const record = this.#table.get(Number(name))
    return record && asciiJson(record)
  }

  /** Everything that is in force here is to be in force everywhere; what gateways that ran alone have revoked gets ids of its own. */
  strays(
    isKnown: (name: string) => boolean,
  ): readonly { readonly name: string; readonly value: string }[] {
    const unknown: Revocation[] = []
    const ofOneAlone: number[] = []
    for (const record of this.#records()) {
      if (record.id < IDS_PER_NODE) ofOneAlone.push(record.id)
      else if (!isKnown(String(record.id))) unknown.push(record)
    }
    const all = [...this.#table.renumber(ofOneAlone).records, ...unknown]
    return all.map((record) => ({ name: String(record.id), value: asciiJson(record) }))
  }

  accepts(name: string, value: string): boolean {
    const known = this.#table.get(Number(name))
    if (known && asciiJson(known) === value) return known.id >= IDS_PER_NODE
    const record = readRecord(value)
    if (record === undefined || record.id < IDS_PER_NODE || String(record.id) !== name) return false
    this.#accepted.set(value, record)
    return true
  }

  apply(registers: readonly Register[], change: Change): number | Promise<number> {
    const records: Revocation[] = []
    const lifted: number[] = []
    const cuts: Promise<void>[] = []
    for (const { key, value } of registers) {
      const id = idOf(key) as number
      const known = this.#table.get(id)
      if (value === undefined) lifted.push(id)
      else if (known && asciiJson(known) === value) {
        // It was ordered here, and comes back.
        const cut = this.#enforcement.cutOf(id)
        if (cut) cuts.push(cut)
      } else records.push(this.#accepted.get(value) ?? (readRecord(value) as Revocation))
    }
    this.#accepted.clear()
    if (records.length + lifted.length + cuts.length === 0) return 0
    const adopted = this.#enforcement.adopt(records, lifted, change)
    return Promise.all([adopted, ...cuts]).then(([hit]) => hit)
  }

  /** Those that were put together when they had ended name everybody, and are of this gateway alone. */
  *#records(): IterableIterator<Revocation> {
    for (const record of this.#table.list()) if (record.isMerged !== true) yield record
    for (const record of this.#table.ended()) if (record.isMerged !== true) yield record
  }
}

/** Tests of the fields of a record; those that may be left out take undefined. */
const FIELDS: Readonly<Record<keyof Revocation, (value: unknown) => boolean>> = {
  id: (value) => Number.isSafeInteger(value) && (value as number) > 0,
  kind: (value) => (REVOCATION_KINDS as readonly unknown[]).includes(value),
  target: isText,
  keys: (value) => value === undefined || (Array.isArray(value) && value.every(isText)),
  issuer: (value) => value === undefined || isText(value),
  scope: (value) =>
    value === undefined ||
    (isJsonObject(value) &&
      ['sub', 'role', 'group'].includes(value['kind'] as string) &&
      isText(value['name'])),
  only: (value) => value === undefined || value === 'subscribe' || value === 'publish',
  beforeMs: isOptionalTime,
  hard: (value) => typeof value === 'boolean',
  expiresAtMs: isOptionalTime,
  issuedByMs: isOptionalTime,
  reason: isText,
  message: isText,
  by: isText,
  atMs: isTime,
  hit: isTime,
  // It names everybody, and is of one gateway alone.
  isMerged: (value) => value === undefined,
}

/**
 * Reads the value of a register.
 *
 * @returns Undefined if it is not what {@link asciiJson} makes of a record that this version knows. A field that it does not know could
 *   say that the record holds for fewer.
 */
function readRecord(value: string): Revocation | undefined {
  let read: unknown
  try {
    read = JSON.parse(value)
  } catch {
    return undefined
  }
  if (!isJsonObject(read) || !Object.keys(read).every((name) => Object.hasOwn(FIELDS, name))) {
    return undefined
  }
  for (const [name, isGood] of Object.entries(FIELDS)) if (!isGood(read[name])) return undefined
  const record = read as unknown as Revocation
  return asciiJson(record) === value ? record : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isOptionalTime(value: unknown): boolean {
  return value === undefined || isTime(value)
}
