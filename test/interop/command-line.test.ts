import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findProgram } from '../support/redis-servers.ts'
import { connectControl, type Control } from '../support/oracle-session.ts'
import { startServer, type TestGateway } from '../support/server.ts'
import { eventually } from './collect.ts'
import { endProgram, runProgram } from './run-program.ts'

let server: TestGateway
let control: Control

beforeAll(async () => {
  server = await startServer({ directives: { user: [['alice', 'on', '>pw', '&*', '+@all']] } })
  control = await connectControl(server.port)
})

afterAll(async () => {
  control.close()
  await server.stop()
})

const inCi = process.env['CI'] === 'true'

for (const name of ['redis-cli', 'valkey-cli']) {
  const program = findProgram(name)
  describe.skipIf(program === undefined && !inCi)(name, () => {
    for (const flags of [[], ['-3']]) {
      const label = flags.length === 0 ? 'RESP2' : 'RESP3'

      test(`subscribes in ${label}`, async () => {
        const address = ['-p', String(server.port), ...flags]
        const subscriber = runProgram(program ?? name, [...address, 'SUBSCRIBE', `cli-${name}`])
        await eventually(
          () => control.ask('PUBLISH', `cli-${name}`, 'hello'),
          (reply) => reply === ':1\r\n',
        )
        await eventually(
          async () => subscriber.output(),
          (text) => text.includes('hello'),
        )
        expect(subscriber.output().split('\n').slice(0, 6)).toEqual([
          'subscribe',
          `cli-${name}`,
          '1',
          'message',
          `cli-${name}`,
          'hello',
        ])
        await endProgram(subscriber)
      })

      test(`subscribes to patterns in ${label}`, async () => {
        const address = ['-p', String(server.port), ...flags]
        const subscriber = runProgram(program ?? name, [...address, 'PSUBSCRIBE', 'cli-p*'])
        await eventually(
          () => control.ask('PUBLISH', 'cli-p1', 'hello'),
          (reply) => reply === ':1\r\n',
        )
        const shown = await eventually(
          async () => subscriber.output(),
          (text) => text.includes('hello'),
        )
        expect(shown).toContain('pmessage\ncli-p*\ncli-p1\nhello')
        await endProgram(subscriber)
      })

      test(`publishes, asks and logs in in ${label}`, async () => {
        const address = ['-p', String(server.port), ...flags]
        const login = ['--no-auth-warning', '--user', 'alice', '--pass', 'pw']
        const script = 'PUBLISH nobody x\nACL WHOAMI\nPUBSUB NUMPAT\nECHO "a b"\nFOO\n'
        const session = runProgram(program ?? name, [...address, ...login], script)
        await session.ended
        expect(session.output().split('\n').slice(0, 5)).toEqual([
          '0',
          'alice',
          '0',
          'a b',
          "ERR unknown command 'FOO', with args beginning with: ",
        ])
      })
    }
  })
}

for (const name of ['redis-benchmark', 'valkey-benchmark']) {
  const program = findProgram(name)
  describe.skipIf(program === undefined && !inCi)(name, () => {
    test('measures PING without complaint', async () => {
      const args = ['-p', String(server.port), '-n', '1000', '-c', '10', '-t', 'ping', '-q']
      const benchmark = runProgram(program ?? name, args)
      expect(await benchmark.ended).toBe(0)
      expect(benchmark.output()).toMatch(/PING_INLINE: [\d.]+ requests per second/)
      expect(benchmark.output()).toMatch(/PING_(?:MBULK|BULK): [\d.]+ requests per second/)
      expect(benchmark.output()).not.toMatch(/error/i)
    })

    test('measures PUBLISH with pipelining in RESP3', async () => {
      const address = ['-p', String(server.port), '-3', '-n', '1000', '-c', '5', '-P', '16', '-q']
      const benchmark = runProgram(program ?? name, [...address, 'PUBLISH', 'bench', 'payload'])
      expect(await benchmark.ended).toBe(0)
      expect(benchmark.output()).toMatch(/[\d.]+ requests per second/)
      expect(benchmark.output()).not.toMatch(/error/i)
    })
  })
}
