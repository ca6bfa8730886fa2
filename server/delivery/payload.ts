/** What a message says, before it is in a buffer of its own. */
export interface Payload {
  /** Bytes. */
  readonly length: number
  /** Copies it to `target`, from `at` on. */
  copy(target: Buffer, at: number): void
  /** Its bytes, which nobody changes afterwards. */
  kept(): Buffer
}

/** A payload that is a buffer, which nobody changes any more. */
export function payloadOf(bytes: Buffer): Payload {
  return {
    length: bytes.length,
    copy: (target, at) => {
      bytes.copy(target, at)
    },
    kept: () => bytes,
  }
}
