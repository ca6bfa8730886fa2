/** Source of the memory that segments collect frames in. */
export interface Arenas {
  /** Returns at least so many bytes of any content, for the caller alone. */
  take(bytes: number): Buffer
  /** Takes an arena back. The caller guarantees that it is not read any more. */
  give(arena: Buffer): void
}

const SMALLEST_BYTES = 512

/** Arenas up to this size come from the runtime's pool if this one has none: that is cheaper. */
const POOLED_BYTES = 2_048

/** Bytes that are kept at most. */
const KEPT_BYTES = 4_194_304

/** Arenas without reuse: the garbage collector frees their memory. */
export const FRESH_ARENAS: Arenas = {
  take: (bytes) => allocate(sizeFor(bytes)),
  give: () => {},
}

/**
 * Pool of reusable arenas.
 *
 * Memory outside of the heap counts against the heap's limit: with a fresh arena for each turn a busy channel had the garbage
 * collector mark the whole heap every 150 ms, for a fifth of the CPU time (1 to 50, pipeline 256, Node 20.20).
 */
export class ArenaPool implements Arenas {
  /** By size: index n holds arenas of 512 * 2^n bytes. */
  readonly #free: Buffer[][] = []
  #keptBytes = 0

  take(bytes: number): Buffer {
    const size = sizeFor(bytes)
    const arena = this.#free[placeOf(size)]?.pop()
    if (arena === undefined) return allocate(size)
    this.#keptBytes -= size
    return arena
  }

  give(arena: Buffer): void {
    if (this.#keptBytes + arena.length > KEPT_BYTES) return
    this.#keptBytes += arena.length
    const place = placeOf(arena.length)
    const free = this.#free[place]
    if (free) free.push(arena)
    else this.#free[place] = [arena]
  }
}

function allocate(size: number): Buffer {
  return size <= POOLED_BYTES ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
}

/** The next power of two. */
function sizeFor(bytes: number): number {
  return bytes <= SMALLEST_BYTES ? SMALLEST_BYTES : 2 ** (32 - Math.clz32(bytes - 1))
}

function placeOf(size: number): number {
  return 31 - Math.clz32(size / SMALLEST_BYTES)
}
