import { describe, test } from 'vitest'
import { GOLDEN_ACL } from '../../conformance/golden-acl.ts'
import { GOLDEN_MULTI } from '../../conformance/golden-multi.ts'
import { GOLDEN_PUBSUB } from '../../conformance/golden-pubsub.ts'
import { GOLDEN_REPLIES } from '../../conformance/golden-replies.ts'
import { expectGoldenAnswer } from '../../support/golden-answer.ts'
import { TestCore, type TestClient } from '../../support/test-core.ts'
import type { Transcript, TranscriptStep } from '../../support/transcript.ts'

/** The core without sockets, with one client for each connection of a transcript. */
class Stage {
  readonly #server = new TestCore()
  readonly #clients = new Map<string, TestClient>()

  async run({ peer, action, bytes }: TranscriptStep): Promise<string> {
    let client = this.#clients.get(peer)
    if (!client) this.#clients.set(peer, (client = this.#server.connect()))
    if (action === 'close') client.client.peerClosed()
    else client.write(bytes)
    await client.settled()
    const answer = client.read() + (client.sink.ends.length > 0 ? '<EOF>' : '')
    for (const other of this.#clients.values()) other.read()
    return answer
  }
}

async function play({ steps }: Transcript): Promise<void> {
  const stage = new Stage()
  for (const step of steps) expectGoldenAnswer(step, await stage.run(step))
}

describe('The core answers what Redis 8.0 answers:', () => {
  for (const transcript of [...GOLDEN_PUBSUB, ...GOLDEN_MULTI, ...GOLDEN_REPLIES, ...GOLDEN_ACL]) {
    test(transcript.title, () => play(transcript))
  }
})
