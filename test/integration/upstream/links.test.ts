import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeCertificates, type Certificates } from '../../support/certificates.ts'
import { folderWith } from '../../support/folder.ts'
import { freePort } from '../../support/free-port.ts'
import { opener } from '../../support/opened.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { startServer, type TestGateway } from '../../support/server.ts'
import type { Directives } from '../../support/settings.ts'
import { waitUntil } from '../../support/topologies/ask-node.ts'
import { Node } from '../../support/topologies/node.ts'
import { startSentinelTrio } from '../../support/topologies/sentinel.ts'

const open = opener()
const isMissing = findProgram('valkey-server') === undefined

/** A user with the rules that docs/scaling.md gives to gateways. */
const [, RULES = ''] =
  /^ACL SETUSER gateways on >\S+ (.*)$/m.exec(
    readFileSync(join(import.meta.dirname, '../../../docs/scaling.md'), 'utf8'),
  ) ?? []

async function startNode(directives: readonly string[] = []): Promise<Node> {
  const node = await Node.start({ directives })
  onTestFinished(() => node.stop())
  return node
}

/** A gateway whose log can be read. */
async function startGateway(
  upstream: string,
  directives: Directives = {},
): Promise<TestGateway & { readonly log: () => string }> {
  const logFile = join(folderWith(), 'log')
  const gateway = await open.server({ directives: { upstream, ...directives }, logFile })
  return Object.assign(gateway, { log: () => readFileSync(logFile, 'utf8') })
}

async function readiness(gateway: TestGateway): Promise<{ status: number; problems: string[] }> {
  const answer = await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`)
  const { problems } = (await answer.json()) as { problems: string[] }
  return { status: answer.status, problems }
}

/** Waits until `/readyz` and the log have a line that begins so. @returns The line. */
async function expectProblem(
  gateway: Awaited<ReturnType<typeof startGateway>>,
  start: string,
): Promise<string> {
  let line: string | undefined
  await waitUntil(`the problem ${start}`, async () => {
    const { status, problems } = await readiness(gateway)
    line = problems.find((problem) => problem.startsWith(start))
    return status === 503 && line !== undefined
  })
  await waitUntil('it is in the log', () => gateway.log().includes(JSON.stringify(line)))
  return line ?? ''
}

async function expectReady(gateway: TestGateway): Promise<void> {
  await waitUntil('the gateway is ready', async () => (await readiness(gateway)).status === 200)
}

/** A message goes up and comes back. */
async function expectToWork(gateway: TestGateway): Promise<void> {
  await expectReady(gateway)
  const subscriber = await open.tcp(gateway, 3)
  await subscriber.subscribe('a')
  const publisher = await open.tcp(gateway)
  await publisher.assertReply(['PUBLISH', 'a', 'x'], ':1\r\n')
  await subscriber.takeExactly('>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n')
}

/** A server on a port of its own that answers as old servers do, or hands on to another port. */
class FrontDoor {
  readonly #server: Server
  port = 0
  /** Undefined: it answers each command as a Redis 5 answers HELLO. */
  target: number | undefined

  constructor() {
    this.#server = createServer((client) => {
      client.on('error', () => {})
      if (this.target === undefined) {
        client.on('data', () => client.write("-ERR unknown command 'HELLO'\r\n"))
        return
      }
      const server = connect(this.target, '127.0.0.1')
      server.on('error', () => client.destroy())
      client.pipe(server).pipe(client)
    })
  }

  async listen(): Promise<this> {
    this.port = await freePort()
    await new Promise<void>((resolve) => this.#server.listen(this.port, '127.0.0.1', resolve))
    onTestFinished(() => void this.#server.close())
    return this
  }
}

describe.skipIf(isMissing && process.env['CI'] !== 'true')('a link', () => {
  describe('over TLS', () => {
    let certificates: Certificates
    let node: Node
    let tlsPort: number
    let password: string

    beforeAll(async () => {
      certificates = makeCertificates()
      tlsPort = await freePort()
      const { server, ca } = certificates
      node = await Node.start({
        directives: [
          ...['--tls-port', `${tlsPort}`, '--tls-auth-clients', 'yes', '--tls-ca-cert-file', ca],
          ...['--tls-cert-file', server.cert, '--tls-key-file', server.key],
        ],
      })
      const rules = [...RULES.split(' '), '+client|setinfo', '+config|get']
      await node.ask('ACL', 'SETUSER', 'gateways', 'on', '>secret', ...rules)
      password = join(folderWith({ password: 'secret' }, afterAll), 'password')
    }, 30_000)

    afterAll(async () => {
      await node?.stop()
      certificates?.remove()
    })

    function directives(own: Directives = {}): Directives {
      const { ca, client } = certificates
      return {
        'upstream-tls-ca-cert-file': ca,
        'upstream-tls-cert-file': client.cert,
        'upstream-tls-key-file': client.key,
        'upstream-user': 'gateways',
        'upstream-password-file': password,
        ...own,
      }
    }

    test('presents its certificate, and logs in as a user with the commands of docs/scaling.md', async () => {
      const gateway = await startGateway(`rediss://127.0.0.1:${tlsPort}`, directives())
      await expectToWork(gateway)
      const denied = await node.ask('ACL', 'LOG')
      expect(denied).toEqual([])
    })

    test('asks for the host by name, if it is named so', async () => {
      await expectToWork(await startGateway(`rediss://localhost:${tlsPort}`, directives()))
    })

    test.each([
      [
        'a certificate of a stranger',
        () => ({ 'upstream-tls-ca-cert-file': certificates.stranger.cert }),
        'upstream-tls-ca-cert-file: the certificate of <node> comes from an authority that is not trusted',
      ],
      [
        'a certificate for another name',
        () => ({ 'upstream-tls-server-name': 'redis.example' }),
        'upstream-tls-server-name: the certificate of <node> is for another name',
      ],
      [
        'no certificate of its own',
        () => ({ 'upstream-tls-cert-file': '', 'upstream-tls-key-file': '' }),
        'upstream-tls-cert-file: <node> wants a certificate that it trusts',
      ],
      [
        'a certificate of its own that the node does not trust',
        () => ({
          'upstream-tls-cert-file': certificates.stranger.cert,
          'upstream-tls-key-file': certificates.stranger.key,
        }),
        'upstream-tls-cert-file: <node> wants a certificate that it trusts',
      ],
    ])('says what is wrong: %s', async (_name, own, problem) => {
      const gateway = await startGateway(`rediss://127.0.0.1:${tlsPort}`, directives(own()))
      await expectProblem(gateway, problem.replace('<node>', `127.0.0.1:${tlsPort}`))
    })

    test('says that there is no TLS on a plain port', async () => {
      const gateway = await startGateway(`rediss://127.0.0.1:${node.port}`, directives())
      await expectProblem(gateway, `upstream: 127.0.0.1:${node.port} does not speak TLS`)
    })
  })

  test('that is refused for its password is there as soon as the file has the right one', async () => {
    const node = await startNode()
    await node.ask('CONFIG', 'SET', 'requirepass', 'right')
    const folder = folderWith({ password: 'wrong\n' })
    const gateway = await startGateway(`redis://127.0.0.1:${node.port}`, {
      'upstream-password-file': join(folder, 'password'),
    })
    expect(await expectProblem(gateway, 'upstream-password-file: ')).toBe(
      `upstream-password-file: 127.0.0.1:${node.port} refuses the user or password: correct upstream-user and the file`,
    )
    writeFileSync(join(folder, 'password'), 'right\n')
    await expectToWork(gateway)
  })

  test.each([
    ['PUBLISH', ['-publish'], ['+publish']],
    ['the channel of its beacons', ['resetchannels', '&app:*'], ['allchannels']],
    ['SUBSCRIBE', ['-subscribe'], ['+subscribe']],
    ['ROLE', ['-role'], ['+role']],
    ['INFO', ['-info'], ['+info']],
  ])('whose user may not use %s says so until he may', async (_name, less, more) => {
    const node = await startNode()
    const rules = ['on', '>secret', ...RULES.split(' '), ...less]
    await node.ask('ACL', 'SETUSER', 'gateways', ...rules)
    const folder = folderWith({ password: 'secret' })
    const gateway = await startGateway(`redis://127.0.0.1:${node.port}`, {
      'upstream-user': 'gateways',
      'upstream-password-file': join(folder, 'password'),
    })
    const problem = await expectProblem(gateway, `upstream-user: 127.0.0.1:${node.port} refuses`)
    expect(problem).toMatch(/: give this user (the commands and channels that docs\/|\+info)/)
    await node.ask('ACL', 'SETUSER', 'gateways', ...more)
    await expectToWork(gateway)
  })

  test('to a replica is up as soon as that is a master', async () => {
    const node = await startNode(['--replicaof', '127.0.0.1', `${await freePort()}`])
    const gateway = await startGateway(`redis://127.0.0.1:${node.port}`)
    await expectProblem(
      gateway,
      `upstream: 127.0.0.1:${node.port} is a replica, which would lose what is published: name its master, or use redis+sentinel://`,
    )
    await node.ask('REPLICAOF', 'NO', 'ONE')
    await expectToWork(gateway)
  })

  test('to a server that evicts is up as soon as that does not', async () => {
    const node = await startNode(['--maxmemory-policy', 'allkeys-lru'])
    const gateway = await startGateway(`redis://127.0.0.1:${node.port}`)
    await expectProblem(
      gateway,
      `upstream: 127.0.0.1:${node.port} has maxmemory-policy allkeys-lru, which evicts what gateways keep there: set noeviction`,
    )
    await node.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    await expectToWork(gateway)
  })

  test('to another Respcast, or to a server of protocol 2, is up as soon as a Valkey is there', async () => {
    const node = await startNode()
    const other = await startServer()
    onTestFinished(() => other.stop())
    const door = await new FrontDoor().listen()
    const gateway = await startGateway(`redis://127.0.0.1:${door.port}`)
    await expectProblem(
      gateway,
      `upstream: 127.0.0.1:${door.port} speaks protocol 2 only: Redis 7.0 or Valkey is needed`,
    )
    door.target = other.port
    await expectProblem(
      gateway,
      `upstream: 127.0.0.1:${door.port} is a Respcast, and messages would go in circles: name the Redis or Valkey behind it`,
    )
    door.target = node.port
    await expectToWork(gateway)
  })

  test('to a sentinel that was meant to be a Redis, and the other way round, says so', async () => {
    const trio = await startSentinelTrio()
    onTestFinished(() => trio.stop())
    const sentinel = trio.sentinels[0]?.port
    const alone = await startGateway(`redis://127.0.0.1:${sentinel}`)
    await expectProblem(
      alone,
      `upstream: 127.0.0.1:${sentinel} is a sentinel: write redis+sentinel:// before it`,
    )
    const master = trio.nodes[0]?.port
    const followed = await startGateway(`redis+sentinel://127.0.0.1:${master}/main`)
    await expectProblem(
      followed,
      `upstream: 127.0.0.1:${master} is no sentinel: name the sentinels`,
    )
    const misnamed = await startGateway(trio.url.replace('/main', '/other'))
    await expectProblem(misnamed, "upstream: the sentinels know no master 'other': ")
  })
})
