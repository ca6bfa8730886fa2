/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Cuts bytes into pieces of 1 to `most` bytes. */
export function cutAtRandom(bytes: Buffer, most: number, random: () => number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + 1 + Math.floor(random() * most))
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}
