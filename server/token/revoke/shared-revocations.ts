import { asciiJson } from '../../ascii-json.ts'
import type { CommitRequest } from '../../control/control.ts'
import { IDS_PER_NODE } from '../../control/node.ts'
import type { Change, SharedPart } from '../../control/part.ts'
import type { Register } from '../../control/register.ts'
import type { Enforcement } from './enforcement.ts'
import { idOf, keyOf, REVOCATION_PREFIX, type Revocation } from './revocation.ts'
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
  readonly onlyTakes = true
  readonly #table: RevocationTable
  readonly #enforcement: Enforcement

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
  *strays(
    isKnown: (name: string) => boolean,
  ): IterableIterator<{ readonly name: string; readonly value: string } | undefined> {
    const ofOneAlone: number[] = []
    for (const records of [this.#table.own(), this.#table.ended()]) {
      for (const record of records) {
        const isOfOneAlone = record.id < IDS_PER_NODE
        const isStray = record.isMerged !== true && !isOfOneAlone && !isKnown(String(record.id))
        if (record.isMerged !== true && isOfOneAlone) ofOneAlone.push(record.id)
        yield isStray ? strayOf(record) : undefined
      }
    }
    for (const record of this.#table.renumber(ofOneAlone).records) yield strayOf(record)
  }

  accepts(name: string, value: string): boolean {
    const record = this.#table.texts.read(value)
    return record !== undefined && record.id >= IDS_PER_NODE && isNameOf(record, name)
  }

  apply(registers: readonly Register[], change: Change): number | Promise<number> {
    const records: Revocation[] = []
    const lifted: number[] = []
    const cuts: Promise<void>[] = []
    for (const { key, value } of registers) {
      const id = idOf(key) as number
      const known = this.#table.get(id)
      if (value === undefined) lifted.push(id)
      else if (known && this.#table.texts.isOf(known, value)) {
        // It was ordered here, and comes back.
        const cut = this.#enforcement.cutOf(id)
        if (cut) cuts.push(cut)
      } else records.push(this.#table.texts.read(value) as Revocation)
    }
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

/** A name is the decimal number and nothing else. */
const NAME = /^[1-9]\d*$/

function isNameOf({ id }: Revocation, name: string): boolean {
  return Number(name) === id && NAME.test(name)
}

function strayOf(record: Revocation): { readonly name: string; readonly value: string } {
  return { name: String(record.id), value: asciiJson(record) }
}
