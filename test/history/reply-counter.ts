const CR_LF = 2
const LF = 0x0a
const MINUS = 0x2d
const ARRAY = 0x2a
const PUSH = 0x3e

/** Counts the replies of a stream of RESP that comes in pieces, and reads nothing of it: pushes are skipped. */
export class ReplyCounter {
  /** Replies that have come, errors included. */
  replies = 0
  errors = 0
  readonly #isPush: (type: number) => boolean
  /** Values that the current one still consists of, itself included. */
  #missing = 0
  /** Bytes of a string that are skipped. */
  #skip = 0
  /** The type of the current value as a whole, and of the line that is read; 0 is none. */
  #top = 0
  #type = 0
  #number = 0
  #isNegative = false

  /** @param isResp2 Arrays are pushes, and no command is answered with one. */
  constructor(isResp2: boolean) {
    this.#isPush = isResp2 ? (type) => type === ARRAY : (type) => type === PUSH
  }

  read(bytes: Uint8Array): void {
    const end = bytes.length
    let at = 0
    while (at < end) {
      if (this.#skip > 0) {
        const taken = Math.min(this.#skip, end - at)
        at += taken
        this.#skip -= taken
        if (this.#skip === 0) this.#endOne()
      } else if (this.#type === 0) {
        this.#begin(bytes[at++] as number)
      } else {
        const byte = bytes[at++] as number
        if (byte >= 0x30 && byte <= 0x39) this.#number = this.#number * 10 + byte - 0x30
        else if (byte === MINUS) this.#isNegative = true
        else if (byte === LF) this.#endLine()
      }
    }
  }

  #begin(type: number): void {
    if (this.#missing === 0) {
      this.#missing = 1
      this.#top = type
    }
    this.#type = type
    this.#number = 0
    this.#isNegative = false
  }

  #endLine(): void {
    const count = this.#isNegative ? 0 : this.#number
    switch (String.fromCharCode(this.#type)) {
      case '$':
      case '=':
      case '!':
        if (!this.#isNegative) {
          this.#skip = count + CR_LF
          return
        }
        break
      case '*':
      case '>':
      case '~':
        this.#missing += count
        break
      case '%':
        this.#missing += 2 * count
        break
    }
    this.#endOne()
  }

  #endOne(): void {
    this.#type = 0
    if (--this.#missing > 0 || this.#isPush(this.#top)) return
    this.replies++
    if (this.#top === MINUS) this.errors++
  }
}
