import { chmodSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { folderWith } from '../../../support/folder.ts'
import { command, TestCore } from '../../../support/test-core.ts'

/** A core with a configuration file of this text. */
function start(text: string) {
  const path = join(folderWith({ 'respcast.conf': text }), 'respcast.conf')
  const core = new TestCore()
  // As if it had been started with the file.
  Object.assign(core.config, { file: path })
  return { core, path, written: () => readFileSync(path, 'latin1') }
}

describe('CONFIG REWRITE', () => {
  test('is answered when the file is on disk, and other clients do not wait for that', async () => {
    const { core, path, written } = start('timeout 5\n')
    chmodSync(path, 0o640)
    const [admin, other] = [core.connect(), core.connect()]
    admin.send('CONFIG', 'SET', 'timeout', '9')
    admin.write(command('CONFIG', 'REWRITE'))
    admin.write(command('PING'))
    expect(admin.read()).toBe('')
    expect(other.send('PING')).toBe('+PONG\r\n')
    expect(written()).toBe('timeout 5\n')
    await admin.settled()
    expect(admin.read()).toBe('+OK\r\n+PONG\r\n')
    expect(written()).toContain('timeout 9\n')
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  test('of very many users is as of one moment, and lets others come between', async () => {
    const { core, written } = start('')
    for (let at = 0; at < 1_700; at++) core.setUser(`u${at}`, 'on')
    const admin = core.connect()
    const other = core.connect()
    const list = vi.spyOn(core.users, 'list')
    admin.write(command('CONFIG', 'REWRITE'))
    // The file has been read, and the first users are described.
    await vi.waitFor(() => expect(list).toHaveBeenCalled(), 10_000)
    core.setUser('u1699', 'off')
    expect(other.send('PING')).toBe('+PONG\r\n')
    await admin.settled()
    expect(admin.read()).toBe('+OK\r\n')
    expect(written().match(/^user u\d+ on /gm)).toHaveLength(1_700)
    expect(await admin.sendAndWait('CONFIG', 'REWRITE')).toBe('+OK\r\n')
    expect(written().match(/^user u\d+ on /gm)).toHaveLength(1_699)
  })

  test('of a file that is gone is an error', async () => {
    const { core, path } = start('')
    rmSync(path)
    expect(await core.connect().sendAndWait('CONFIG', 'REWRITE')).toBe(
      '-ERR Rewriting config file: ENOENT\r\n',
    )
  })
})

describe('A transaction with commands that wait for the disk', () => {
  test('is executed in one go; its reply comes when the disk has it, in its order', async () => {
    const { core, written } = start('timeout 5\n')
    const [admin, other] = [core.connect({ protocol: 3 }), core.connect()]
    admin.send('MULTI')
    admin.send('CONFIG', 'SET', 'timeout', '9')
    admin.send('CONFIG', 'REWRITE')
    admin.send('SUBSCRIBE', 'a')
    admin.send('CONFIG', 'REWRITE')
    admin.send('PING')
    admin.write(command('EXEC'))
    admin.write(command('PING', 'after'))
    expect(admin.read()).toBe('')
    // Executed they all are.
    expect(core.registry.countOf('channel', 'a')).toBe(1)
    expect(written()).toBe('timeout 5\n')
    expect(other.send('PUBLISH', 'a', 'm')).toBe(':1\r\n')
    await admin.settled()
    expect(admin.read()).toBe(
      '*5\r\n+OK\r\n+OK\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+OK\r\n+PONG\r\n' +
        '>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n' +
        '$5\r\nafter\r\n',
    )
    expect(written()).toContain('timeout 9\n')
  })

  test('says in its place what failed', async () => {
    const core = new TestCore()
    const admin = core.connect()
    for (const words of [['MULTI'], ['PING'], ['CONFIG', 'REWRITE'], ['ACL', 'SAVE'], ['PING']])
      admin.send(...words)
    const reply = await admin.sendAndWait('EXEC')
    expect(reply).toMatch(
      /^\*4\r\n\+PONG\r\n-ERR The server is running without a config file\r\n-ERR This Redis instance is not configured to use an ACL file[^\r]+\r\n\+PONG\r\n$/,
    )
    expect(core.counters.errors.get('ERR')).toBe(2)
  })

  test('keeps silent where CLIENT REPLY says so', async () => {
    const { core, written } = start('timeout 5\n')
    const admin = core.connect()
    admin.send('CLIENT', 'REPLY', 'OFF')
    for (const words of [
      ['MULTI'],
      ['CONFIG', 'SET', 'timeout', '9'],
      ['CONFIG', 'REWRITE'],
      ['EXEC'],
    ])
      admin.write(command(...words))
    await admin.settled()
    expect(await admin.sendAndWait('CLIENT', 'REPLY', 'ON')).toBe('+OK\r\n')
    expect(written()).toContain('timeout 9\n')
  })

  test('is executed though its client leaves meanwhile, and holds nothing up', async () => {
    const { core, written } = start('timeout 5\n')
    const admin = core.connect()
    for (const words of [['MULTI'], ['CONFIG', 'SET', 'timeout', '9'], ['CONFIG', 'REWRITE']])
      admin.send(...words)
    admin.write(command('EXEC'))
    expect(core.connect().send('CLIENT', 'KILL', 'ID', `${admin.client.id}`)).toBe(':1\r\n')
    expect(admin.client.closed).toBe(true)
    await core.configFile.settled()
    await new Promise((resolve) => void setImmediate(resolve))
    core.turn.end()
    expect(admin.read()).toBe('')
    expect(written()).toContain('timeout 9\n')
  })
})
