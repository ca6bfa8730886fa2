import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates, type Certificates } from '../support/certificates.ts'
import { findProgram } from '../support/redis-servers.ts'
import type { Control } from '../support/oracle-session.ts'
import { eventually } from './collect.ts'
import { Endpoint, requireInCi } from './endpoint.ts'
import { endProgram, runProgram } from './run-program.ts'

const hasOpenssl = requireInCi(findProgram('openssl') !== undefined, 'openssl')

/** Ways other than TCP. */
const WAYS = ['a Unix socket', 'TLS', 'TLS with a certificate of the client'] as const

let certificates: Certificates
let open: Endpoint
let certified: Endpoint
let controls: Map<Endpoint, Control>

beforeAll(async () => {
  if (!hasOpenssl) return
  certificates = makeCertificates()
  open = await Endpoint.open(certificates)
  certified = await Endpoint.open(certificates, true)
  controls = new Map([
    [open, await open.control()],
    [certified, await certified.control()],
  ])
})

afterAll(async () => {
  if (!hasOpenssl) return
  for (const [endpoint, control] of controls) {
    control.close()
    await endpoint.close()
  }
  certificates.remove()
})

/** The server, and the flags with which a program reaches it. */
function reach(way: (typeof WAYS)[number]): { flags: string[]; control: Control } {
  const endpoint = way === 'TLS with a certificate of the client' ? certified : open
  const control = controls.get(endpoint) as Control
  if (way === 'a Unix socket') return { flags: ['-s', endpoint.socketPath], control }
  const { ca, client } = certificates
  const tls = ['-h', '127.0.0.1', '-p', String(endpoint.tlsPort), '--tls', '--cacert', ca]
  const own = way === 'TLS' ? [] : ['--cert', client.cert, '--key', client.key]
  return { flags: [...tls, ...own], control }
}

for (const name of ['redis-cli', 'valkey-cli']) {
  const program = findProgram(name)
  const canRun = requireInCi(program !== undefined, name) && hasOpenssl
  describe.skipIf(!canRun)(name, () => {
    for (const protocol of [2, 3]) {
      test.each(WAYS)(`subscribes and publishes: RESP${protocol} over %s`, async (way) => {
        const { flags, control } = reach(way)
        const all = protocol === 3 ? [...flags, '-3'] : flags
        const subscriber = runProgram(program ?? '', [...all, 'SUBSCRIBE', 'news'])
        await eventually(
          () => control.ask('PUBSUB', 'NUMSUB', 'news'),
          (reply) => reply.endsWith(':1\r\n'),
        )
        const publisher = runProgram(program ?? '', [...all, 'PUBLISH', 'news', 'hello'])
        expect(await publisher.ended).toBe(0)
        expect(publisher.output()).toBe('1\n')
        const shown = await eventually(
          async () => subscriber.output(),
          (text) => text.includes('hello'),
        )
        expect(shown).toContain('message\nnews\nhello')
        await endProgram(subscriber)
        await eventually(
          () => control.ask('PUBSUB', 'NUMSUB', 'news'),
          (reply) => reply.endsWith(':0\r\n'),
        )
      })
    }

    test('is refused without a certificate where TLS asks for one', async () => {
      const { flags } = reach('TLS with a certificate of the client')
      const client = runProgram(program ?? '', [...flags.slice(0, -4), 'PING'])
      expect(await client.ended).not.toBe(0)
      expect(client.output()).not.toContain('PONG')
    })
  })
}

for (const name of ['redis-benchmark', 'valkey-benchmark']) {
  const program = findProgram(name)
  const canRun = requireInCi(program !== undefined, name) && hasOpenssl
  describe.skipIf(!canRun)(name, () => {
    test.each(WAYS)('measures PUBLISH over %s', async (way) => {
      const { flags } = reach(way)
      const load = ['-n', '500', '-c', '5', '-P', '8', '-q', 'PUBLISH', 'bench', 'payload']
      const benchmark = runProgram(program ?? '', [...flags, ...load])
      expect(await benchmark.ended).toBe(0)
      expect(benchmark.output()).toMatch(/[\d.]+ requests per second/)
      expect(benchmark.output()).not.toMatch(/error/i)
    })
  })
}
