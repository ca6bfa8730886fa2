import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findProgram, startRedisServer, type RunningServer } from '../support/redis-servers.ts'
import { connectRaw } from '../support/resp-client.ts'
import { startServer, type TestGateway } from '../support/server.ts'

const PROGRAMS = ['redis-server', 'valkey-server'].map((name) => ({
  name,
  path: findProgram(name),
}))
const MISSING = PROGRAMS.filter(({ path }) => path === undefined)
if (MISSING.length > 0) {
  const message = `${MISSING.map(({ name }) => name).join(', ')} not installed: no query buffer is compared`
  if (process.env['CI'] === 'true') throw new Error(message)
  process.stderr.write(`${message}\n`)
}

const LIMIT_BYTES = 1_048_576

/** Sizes of the payload around the limit: with its line end it may fill the query buffer. */
const SIZES = [-3, -2, -1, 0, 1, 2, 4_096, 40_960].map((beyond) => LIMIT_BYTES + beyond)

/** Sends a payload, and then asks for a reply, in pieces. */
async function publishes(port: number, payloadBytes: number, pieceBytes: number): Promise<string> {
  const client = await connectRaw(port)
  try {
    const bytes = Buffer.concat([
      Buffer.from(`*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$${payloadBytes}\r\n`),
      Buffer.alloc(payloadBytes, 'x'),
      Buffer.from('\r\n*1\r\n$4\r\nPING\r\n'),
    ])
    for (let at = 0; at < bytes.length; at += pieceBytes)
      client.send(bytes.subarray(at, at + pieceBytes))
    const answered = client.takeUntil(':0\r\n+PONG\r\n').catch((error: Error) => error.message)
    await Promise.race([client.closed, answered])
    return client.takeAll() === '' && (await answered) !== ':0\r\n+PONG\r\n' ? 'closed' : 'answered'
  } finally {
    client.destroy()
  }
}

describe('At client-query-buffer-limit the size of a payload decides, however it is cut:', () => {
  let ours: TestGateway

  beforeAll(async () => {
    ours = await startServer({ issuer: false, directives: { 'client-query-buffer-limit': '1mb' } })
  })

  afterAll(async () => {
    await ours.stop()
  })

  for (const { name, path } of PROGRAMS) {
    describe.skipIf(path === undefined)(`as with ${name}`, () => {
      let theirs: RunningServer

      beforeAll(async () => {
        theirs = await startRedisServer(path ?? '', ['--client-query-buffer-limit', '1mb'])
      })

      afterAll(async () => {
        await theirs.stop()
      })

      for (const size of SIZES) {
        test(`${size} bytes`, async () => {
          for (const pieceBytes of [LIMIT_BYTES * 2, 65_536, 10_007]) {
            const [their, our] = [
              await publishes(theirs.port, size, pieceBytes),
              await publishes(ours.port, size, pieceBytes),
            ]
            expect([size, pieceBytes, our]).toEqual([size, pieceBytes, their])
            expect(our).toBe(size + 2 > LIMIT_BYTES ? 'closed' : 'answered')
          }
        })
      }
    })
  }
})
