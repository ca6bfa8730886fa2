import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RespcastClient } from '../../web/client/client.ts'
import { FakeServer } from '../unit/web/client/support/fake-server.ts'

/** Histories of a run; `npm test` has fewer than a proof. */
const HISTORIES = Number(process.env['RESPCAST_HISTORIES'] ?? 500)

/** Whatever plain JavaScript may pass where a string or bytes are asked for. */
const ANYTHING: fc.Arbitrary<unknown> = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.uint8Array({ maxLength: 8 }),
  fc.uint16Array({ maxLength: 4 }),
  fc.uint8Array({ maxLength: 8 }).map((bytes) => bytes.slice().buffer),
  fc.constantFrom(
    null,
    undefined,
    true,
    5,
    1n,
    Symbol.iterator,
    () => 'x',
    new Date(0),
    Number.NaN,
  ),
  fc.record({ x: fc.integer() }),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.constant({
    toJSON: () => {
      throw new Error('no JSON')
    },
  }),
)

const COMMAND = fc.oneof(
  fc.record({ kind: fc.constant('publish' as const), name: ANYTHING, data: ANYTHING }),
  fc.record({ kind: fc.constant('spublish' as const), name: ANYTHING, data: ANYTHING }),
  fc.record({ kind: fc.constant('call' as const), name: ANYTHING, data: ANYTHING }),
  fc.record({ kind: fc.constant('why' as const), name: ANYTHING, data: ANYTHING }),
  fc.record({ kind: fc.constant('subscribe' as const), name: ANYTHING, data: ANYTHING }),
)

type Command = typeof COMMAND extends fc.Arbitrary<infer Value> ? Value : never

/** The methods of a client as plain JavaScript sees them. */
type Loose = Record<Command['kind'], (name: unknown, data: unknown) => Promise<unknown>>

/** Sends a command; one that is refused at once has sent nothing. */
async function run(client: RespcastClient, { kind, name, data }: Command): Promise<unknown> {
  const loose = client as unknown as Loose
  if (kind === 'call') return loose.call('ECHO', data)
  if (kind === 'subscribe') {
    void loose.subscribe(name, () => undefined)
    return undefined
  }
  return loose[kind](name, data)
}

describe('Whatever a caller passes', () => {
  test('each reply settles the command that it answers', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('bytes' as const, 'text' as const, 'json' as const),
        fc.array(COMMAND, { minLength: 1, maxLength: 12 }),
        async (codec, commands) => {
          const server = new FakeServer()
          const client = server.client({ token: 'a.b.c', codec })
          client.on('error', () => undefined)
          await server.online()
          const outcomes = commands.map((each) =>
            run(client, each).then(
              (value) => ({ value }),
              (error: unknown) => ({ error }),
            ),
          )
          await Promise.resolve()
          // Answers each command that came with its place among all.
          const sent = server.socket.commands()
          for (const [place, [word = '', name = '']] of sent.entries()) {
            if (word === 'SUBSCRIBE') server.socket.confirm('subscribe', name)
            else server.socket.receive(`:${place}\r\n`)
          }
          const places = sent.flatMap(([word], place) => (word === 'SUBSCRIBE' ? [] : [place]))
          const settled = await Promise.all(outcomes)
          const replies = settled.flatMap((outcome, index) => {
            if ('error' in outcome) {
              // A mistake of the caller, or of its own code: nothing else can fail here.
              expect(outcome.error).toSatisfy(
                (error) => error instanceof TypeError || (error as Error).message === 'no JSON',
              )
              return []
            }
            const { kind } = commands[index] as Command
            return kind === 'subscribe' ? [] : [kind === 'why' ? 'why' : outcome.value]
          })
          expect(replies).toEqual(
            places.map((place) => (sent[place]?.[1] === 'WHY' ? 'why' : place)),
          )
          client.close()
        },
      ),
      { numRuns: HISTORIES },
    )
  })
})
