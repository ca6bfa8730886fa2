import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectRaw, type RawClient } from '../support/resp-client.ts'
import { startServer, TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../support/server.ts'
import { eventually, takeLine } from './support/opened.ts'
import { seededRandom } from './support/random.ts'

const ROOT = join(import.meta.dirname, '../..')
const ROUNDS = 4
/** Connections that revoke at the same time. */
const WRITERS = 3

let folder: string
let child: ChildProcess | undefined
const clients: RawClient[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'respcast-kill-'))
  writeFileSync(join(folder, 'users.acl'), '')
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await kill()
  rmSync(folder, { recursive: true, force: true })
})

async function kill(): Promise<void> {
  if (child?.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** A process of its own, on a Unix socket. */
async function start(): Promise<void> {
  const socket = join(folder, 'socket')
  rmSync(socket, { force: true })
  const directives = {
    dir: folder,
    port: '0',
    'http-port': '0',
    'admin-port': '0',
    unixsocket: socket,
    aclfile: 'users.acl',
    'jwt-issuer': TEST_ISSUER,
    'jwt-audience': TEST_AUDIENCE,
  }
  const args = Object.entries(directives).flatMap(([name, value]) => [`--${name}`, value])
  child = spawn(process.execPath, ['dist/server/main.js', ...args], {
    cwd: ROOT,
    env: { ...process.env, RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString() },
    stdio: 'ignore',
  })
  await eventually('the socket', () => existsSync(socket))
}

async function connect(): Promise<RawClient> {
  const client = await connectRaw(join(folder, 'socket'))
  clients.push(client)
  return client
}

/** Sends commands one after the other until the connection breaks. @returns The names whose command was acknowledged. */
async function writeUntilKilled(
  name: (i: number) => string,
  command: (name: string) => string[],
  ok: string,
): Promise<string[]> {
  const client = await connect()
  const acknowledged: string[] = []
  for (let i = 0; ; i++) {
    client.command(...command(name(i)))
    let line: string
    try {
      line = await takeLine(client)
    } catch {
      return acknowledged
    }
    if (line !== ok) throw new Error(line)
    acknowledged.push(name(i))
  }
}

/** What a server that starts on the files of the dead one has. */
async function survivors(): Promise<{ revoked: Set<string>; roles: Set<string> }> {
  const server = await startServer({
    directives: {
      'token-log-file': join(folder, 'token.log'),
      aclfile: join(folder, 'users.acl'),
    },
  })
  const revoked = [...server.core.tokens.revocations.list()].map(({ target }) => target)
  const roles = server.core.users.names()
  await server.stop()
  return { revoked: new Set(revoked), roles: new Set(roles) }
}

describe('kill -9 at a random moment', () => {
  test(
    'loses no revocation and no role edit that was acknowledged',
    { timeout: 120_000 },
    async () => {
      const random = seededRandom(4)
      const revoked: string[] = []
      const roles: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        await start()
        const revoking = Array.from({ length: WRITERS }, (_, writer) =>
          writeUntilKilled(
            (i) => `s-${round}-${writer}-${i}`,
            (target) => ['TOKEN', 'REVOKE', 'SUB', target, 'REASON', 'x'.repeat(500)],
            ':0',
          ),
        )
        const editing = writeUntilKilled(
          (i) => `role:r${round}-${i % 20}`,
          (role) => ['ACL', 'SETUSER', role, 'off', 'resetchannels', '&news:*'],
          '+OK',
        )
        await new Promise((resolve) => void setTimeout(resolve, 30 + random() * 300))
        await kill()
        revoked.push(...(await Promise.all(revoking)).flat())
        roles.push(...(await editing))
        const left = await survivors()
        expect(revoked.filter((target) => !left.revoked.has(target))).toEqual([])
        expect(roles.filter((role) => !left.roles.has(role))).toEqual([])
      }
      expect(revoked.length).toBeGreaterThan(ROUNDS)
      expect(roles.length).toBeGreaterThan(ROUNDS)
    },
  )
})
