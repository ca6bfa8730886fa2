import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually, opener } from '../../support/opened.ts'
import { respcast, type Run } from '../../support/process.ts'
import { seededRandom } from '../../support/random.ts'
import { connectRaw, type RawClient } from '../../support/resp-client.ts'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../support/server.ts'
import { folderWith } from '../../support/folder.ts'

const open = opener()

const ROUNDS = 4
/** Connections that revoke at the same time. */
const WRITERS = 3

/** Starts a process of its own, on a Unix socket in `folder`. */
async function start(folder: string): Promise<Run> {
  rmSync(join(folder, 'socket'), { force: true })
  const directives = {
    dir: folder,
    port: '0',
    'http-port': '0',
    'admin-port': '0',
    unixsocket: 'socket',
    aclfile: 'users.acl',
    'jwt-issuer': TEST_ISSUER,
    'jwt-audience': TEST_AUDIENCE,
  }
  const args = Object.entries(directives).flatMap(([name, value]) => [`--${name}`, value])
  const env = { RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString() }
  const run = respcast(open, args, { cwd: folder, env })
  await run.says('ready to accept connections')
  return run
}

/** Sends commands one after the other until the connection breaks, and collects the names that were acknowledged. */
async function writeUntilKilled(
  client: RawClient,
  acknowledged: string[],
  name: (i: number) => string,
  command: (name: string) => string[],
  ok: string,
): Promise<void> {
  for (let i = 0; ; i++) {
    client.command(...command(name(i)))
    let line: string
    try {
      line = await client.takeLine()
    } catch {
      return
    }
    if (line !== ok) throw new Error(line)
    acknowledged.push(name(i))
  }
}

/** Returns the state of a server that starts on the files of the dead one. */
async function survivors(folder: string): Promise<{ revoked: Set<string>; roles: Set<string> }> {
  const server = await open.server({
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
      const folder = folderWith({ 'users.acl': '' })
      const connect = async (): Promise<RawClient> => {
        const client = await connectRaw(join(folder, 'socket'))
        open.onEnd(() => client.destroy())
        return client
      }
      for (let round = 0; round < ROUNDS; round++) {
        const { child, ended } = await start(folder)
        const clients = await Promise.all(Array.from({ length: WRITERS }, connect))
        const revoking = clients.map((client, writer) =>
          writeUntilKilled(
            client,
            revoked,
            (i) => `s-${round}-${writer}-${i}`,
            (target) => ['TOKEN', 'REVOKE', 'SUB', target, 'REASON', 'x'.repeat(500)],
            ':0',
          ),
        )
        const editing = writeUntilKilled(
          await connect(),
          roles,
          (i) => `role:r${round}-${i % 20}`,
          (role) => ['ACL', 'SETUSER', role, 'off', 'resetchannels', '&news:*'],
          '+OK',
        )
        const edited = roles.length
        await eventually('roles are edited', () => roles.length > edited + 1)
        await new Promise((resolve) => void setTimeout(resolve, random() * 300))
        child.kill('SIGKILL')
        await ended
        await Promise.all([...revoking, editing])
        const left = await survivors(folder)
        expect(revoked.filter((target) => !left.revoked.has(target))).toEqual([])
        expect(roles.filter((role) => !left.roles.has(role))).toEqual([])
      }
      expect(revoked.length).toBeGreaterThan(ROUNDS)
      expect(roles.length).toBeGreaterThan(ROUNDS)
    },
  )
})
