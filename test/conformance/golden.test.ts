import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectControl, connectPeer, Session } from '../support/oracle-session.ts'
import { connectWebSocket } from '../support/resp-client.ts'
import { startServer, type TestServer } from '../support/server.ts'
import {
  encodeWords,
  escapeBytes,
  unescapeBytes,
  type Transcript,
  type TranscriptStep,
} from '../support/transcript.ts'
import { GOLDEN_ACL } from './golden-acl.ts'
import { GOLDEN_MULTI } from './golden-multi.ts'
import { GOLDEN_PUBSUB } from './golden-pubsub.ts'
import { GOLDEN_REPLIES } from './golden-replies.ts'

const HELLO = '(HELLO reply, proto as requested)'
const CLIENT_INFO = '(client info line, resp=2 sub=0)'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  await server.stop()
})

function helloReply(protocol: '2' | '3'): RegExp {
  const header = protocol === '3' ? '%7' : String.raw`\*14`
  const text = String.raw`^${header}\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8\.0\.6\r\n$5\r\nproto\r\n:${protocol}\r\n$2\r\nid\r\n:\d+\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n\*0\r\n$`
  return new RegExp(text.replaceAll(/\$(?=\d)/g, String.raw`\$`))
}

function expectAnswer(step: TranscriptStep, answer: string): void {
  const { redis, deviation, source } = step
  if (deviation !== undefined) {
    expect(escapeBytes(answer), source).toBe(escapeBytes(deviation.bytes))
  } else if (redis === HELLO) {
    expect(answer, source).toMatch(helloReply(source.includes('3') ? '3' : '2'))
  } else if (redis === CLIENT_INFO) {
    expect(answer, source).toMatch(/^\$\d+\r\nid=\d+ .* sub=0 .* resp=2 .*\n\r\n$/)
  } else if (redis === '(nothing)') {
    expect(answer, source).toBe('')
  } else {
    expect(escapeBytes(answer), source).toBe(escapeBytes(unescapeBytes(redis ?? '')))
  }
}

async function play(session: Session, transcript: Transcript): Promise<void> {
  try {
    for (const step of transcript.steps) {
      const outcome = await session.run(step)
      expectAnswer(step, outcome.get(step.peer) ?? '')
    }
  } finally {
    await session.end()
    session.control.close()
  }
}

async function playOverTcp(transcript: Transcript): Promise<void> {
  const control = await connectControl(server.port)
  await play(new Session(control, () => connectPeer(server.port, '127.0.0.1')), transcript)
}

async function playOverWebSocket(transcript: Transcript): Promise<void> {
  const control = await connectControl(server.port)
  await control.ask('ACL', 'SETUSER', 'browser', 'reset', 'on', '>pw', '&*', '+@all')
  const open = async () => {
    const client = await connectWebSocket(`ws://127.0.0.1:${server.adminPort}/ws`)
    client.send(encodeWords(['AUTH', 'browser', 'pw']))
    await client.takeUntil('+OK\r\n')
    return client
  }
  await play(new Session(control, open), transcript)
}

const isRestricted = /RESP2|HELLO switches|CLIENT REPLY OFF in RESP2/

/** Transcripts of RESP3; a WebSocket is never anything else. */
const OVER_WEBSOCKET = [...GOLDEN_PUBSUB, ...GOLDEN_MULTI, ...GOLDEN_REPLIES].filter(
  ({ title, steps }) => !isRestricted.test(title) && steps[0]?.source === 'A: HELLO 3',
)

describe('over TCP a client gets what Redis 8.0 answers:', () => {
  for (const transcript of [...GOLDEN_PUBSUB, ...GOLDEN_MULTI, ...GOLDEN_REPLIES, ...GOLDEN_ACL]) {
    test(transcript.title, () => playOverTcp(transcript))
  }
})

describe('over WebSocket a client gets what RESP3 over TCP gets:', () => {
  test('there are transcripts in RESP3', () => {
    expect(OVER_WEBSOCKET.length).toBeGreaterThanOrEqual(6)
  })
  for (const transcript of OVER_WEBSOCKET) {
    test(transcript.title, () => playOverWebSocket(transcript))
  }
})
