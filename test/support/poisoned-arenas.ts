import { ArenaPool } from '../../server/delivery/arenas.ts'

/** Not a byte of any RESP that tests send. */
const POISON = 0xee

/** A pool whose arenas are overwritten as soon as they come back: whoever still reads them is found out. */
export class PoisonedArenas extends ArenaPool {
  /** Arenas that came back. */
  given = 0

  override give(arena: Buffer): void {
    this.given++
    arena.fill(POISON)
    super.give(arena)
  }
}
