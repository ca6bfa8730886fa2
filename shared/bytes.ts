const encoder = new TextEncoder()
// A byte order mark is content here: without `ignoreBOM` the decoder would drop it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The UTF-8 bytes of a text. Lone surrogates become U+FFFD. */
export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text)
}

/** The text of UTF-8 bytes. Bytes that are not UTF-8 become U+FFFD: for display, never as a key. */
export function utf8Text(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

/** Returns the number of bytes that {@link utf8Bytes} would make of a text. */
export function utf8Length(text: string): number {
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) {
      length += 1
    } else if (unit < 0x800) {
      length += 2
    } else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(at + 1))) {
      length += 4
      at++
    } else {
      length += 3
    }
  }
  return length
}

/**
 * Writes the UTF-8 bytes of a text into `target`, starting at `at`. The target must have room.
 *
 * @returns The position after them.
 */
export function writeUtf8(target: Uint8Array, at: number, text: string): number {
  return at + encoder.encodeInto(text, target.subarray(at)).written
}

/** The byte string of bytes: one UTF-16 unit (0–255) per byte, so that different bytes never collide as a key. */
export function byteString(bytes: Uint8Array): string {
  let text = ''
  // In pieces that fit on the call stack. The `latin1` of TextDecoder is windows-1252.
  for (let from = 0; from < bytes.length; from += 8192) {
    // `apply` takes any value with a length, unlike its type; spreading would be five times slower.
    const units = bytes.subarray(from, from + 8192) as unknown as number[]
    text += String.fromCharCode.apply(null, units)
  }
  return text
}

/** The bytes of a {@link byteString}. */
export function bytesOfString(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (unit) => unit.charCodeAt(0))
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
