import { describe, expect, test } from 'vitest'
import { expectGoldenAnswer } from '../support/golden-answer.ts'
import { connectControl, connectPeer, Session } from '../support/oracle-session.ts'
import { connectWebSocket } from '../support/resp-client.ts'
import { encodeWords, type Transcript } from '../support/transcript.ts'
import { GOLDEN_ACL } from './golden-acl.ts'
import { GOLDEN_MULTI } from './golden-multi.ts'
import { GOLDEN_PUBSUB } from './golden-pubsub.ts'
import { GOLDEN_REPLIES } from './golden-replies.ts'
import { sharedServer } from '../support/opened.ts'

const server = sharedServer()

async function play(session: Session, transcript: Transcript): Promise<void> {
  try {
    for (const step of transcript.steps) {
      const outcome = await session.run(step)
      expectGoldenAnswer(step, outcome.get(step.peer) ?? '')
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
