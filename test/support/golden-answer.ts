import { expect } from 'vitest'
import { helloReply } from './hello-reply.ts'
import { escapeBytes, unescapeBytes, type TranscriptStep } from './transcript.ts'

const HELLO = '(HELLO reply, proto as requested)'
const CLIENT_INFO = '(client info line, resp=2 sub=0)'

/**
 * Expects the bytes that a golden transcript says a step brings, or what Respcast is known to answer instead.
 *
 * @param answer Byte string; `<EOF>` after the last bytes of a connection that was closed.
 */
export function expectGoldenAnswer(step: TranscriptStep, answer: string): void {
  const { redis, deviation, source } = step
  if (deviation !== undefined) {
    expect(escapeBytes(answer), source).toBe(escapeBytes(deviation.bytes))
  } else if (redis === HELLO) {
    const id = Number(/\$2\r\nid\r\n:(\d+)\r\n/.exec(answer)?.[1])
    expect(answer, source).toBe(helloReply(source.includes('3') ? 3 : 2, id))
  } else if (redis === CLIENT_INFO) {
    expect(answer, source).toMatch(/^\$\d+\r\nid=\d+ .* sub=0 .* resp=2 .*\n\r\n$/)
  } else if (redis === '(nothing)') {
    expect(answer, source).toBe('')
  } else {
    expect(escapeBytes(answer), source).toBe(escapeBytes(unescapeBytes(redis ?? '')))
  }
}
