import { test } from 'vitest'

/**
 * Runs one parser case three ways: the bytes at once, one byte at a time, and cut at every place in turn.
 * A parser that keeps state across chunks must give the same answer each time.
 *
 * @param bytes The stream, as bytes or as a byte string.
 * @param assertCase Reads the chunks, and expects what it expects.
 */
export function testEachCut(
  name: string,
  bytes: Uint8Array | string,
  assertCase: (chunks: Uint8Array[]) => void,
): void {
  const whole = typeof bytes === 'string' ? Uint8Array.from(Buffer.from(bytes, 'latin1')) : bytes
  test(`${name} (whole)`, () => {
    assertCase([whole.slice()])
  })
  test(`${name} (byte by byte)`, () => {
    assertCase(Array.from(whole, (byte) => Uint8Array.of(byte)))
  })
  test(`${name} (cut at every place)`, () => {
    for (let at = 1; at < whole.length; at++) assertCase([whole.slice(0, at), whole.slice(at)])
  })
}
