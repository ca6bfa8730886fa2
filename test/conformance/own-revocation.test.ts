import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectControl, connectPeer, Session } from '../support/oracle-session.ts'
import { startServer, type TestGateway } from '../support/server.ts'
import { commandStep, splitWords } from '../support/transcript.ts'

/** Cases in which the available oracles crash or differ, so that Respcast is tested alone. */
describe('a user that takes channels from itself', () => {
  let server: TestGateway
  let session: Session

  beforeEach(async () => {
    server = await startServer({ issuer: false })
    const control = await connectControl(server.port)
    session = new Session(control, () => connectPeer(server.port, '127.0.0.1'))
    await control.ask('ACL', 'SETUSER', 'u', 'on', 'nopass', '&a', '+@all')
  })

  afterEach(async () => {
    await session.end()
    session.control.close()
    await server.stop()
  })

  const send = async (...lines: readonly string[]): Promise<string> => {
    const outcome = await session.run(commandStep('A', lines.map(splitWords)))
    return outcome.get('A') ?? ''
  }

  test('by ACL SETUSER reads the answer and is closed, and nothing after it runs', async () => {
    await send('HELLO 3 AUTH u x')
    await send('SUBSCRIBE a')
    expect(await send('ACL SETUSER u resetchannels', 'PING')).toBe('+OK\r\n<EOF>')
  })

  test('by ACL DELUSER reads the answer and is closed', async () => {
    await send('AUTH u x')
    expect(await send('ACL DELUSER u', 'PING')).toBe(':1\r\n<EOF>')
  })

  test('in a transaction reads all of its answers and is closed', async () => {
    await send('AUTH u x')
    await send('MULTI', 'SUBSCRIBE a', 'ACL SETUSER u resetchannels', 'ECHO x')
    expect(await send('EXEC', 'PING')).toMatch(
      /^\*3\r\n\*3\r\n\$9\r\nsubscribe\r\n\$1\r\na\r\n:1\r\n\+OK\r\n[^]*<EOF>$/,
    )
  })
})

describe('ACL LOAD', () => {
  test('closes subscribers of the default user that lose a channel, and nobody else', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'respcast-acl-'))
    const file = join(dir, 'users.acl')
    writeFileSync(file, 'user default on nopass ~* resetchannels &a &b +@all\n')
    const server = await startServer({ issuer: false, directives: { aclfile: file } })
    const control = await connectControl(server.port)
    const session = new Session(control, () => connectPeer(server.port, '127.0.0.1'))
    try {
      await session.run(commandStep('A', [['SUBSCRIBE', 'a']]))
      await session.run(commandStep('B', [['SUBSCRIBE', 'b']]))
      await session.run(commandStep('C', [['PING']]))
      expect(await control.ask('ACL', 'LOAD')).toBe('+OK\r\n')
      await control.quiet()
      expect(['A', 'B', 'C'].map((name) => session.isClosed(name))).toEqual([false, false, false])
      writeFileSync(file, 'user default on nopass ~* resetchannels &b +@all\n')
      expect(await control.ask('ACL', 'LOAD')).toBe('+OK\r\n')
      await control.quiet()
      expect(['A', 'B', 'C'].map((name) => session.isClosed(name))).toEqual([true, false, false])
    } finally {
      await session.end()
      control.close()
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    }
  })
})
