import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectControl, type Control } from '../support/oracle-session.ts'
import { startServer, type TestGateway } from '../support/server.ts'
import { folderWith } from '../support/folder.ts'

describe('the ACL file', () => {
  let file: string
  let server: TestGateway
  let control: Control

  beforeEach(async () => {
    const dir = folderWith({ 'users.acl': 'user bob on nopass\nuser role:old\n' })
    file = join(dir, 'users.acl')
    server = await startServer({ directives: { aclfile: file } })
    control = await connectControl(server.port)
  })

  afterEach(async () => {
    control.close()
    await server.stop()
  })

  const names = (): string[] =>
    readFileSync(file, 'latin1')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [line.split(' ')[1] ?? '']))

  test('is not written when a user is made, changed or deleted: that takes ACL SAVE, as in Redis', async () => {
    expect(await control.ask('ACL', 'SETUSER', 'alice', 'on')).toBe('+OK\r\n')
    expect(await control.ask('ACL', 'DELUSER', 'bob')).toBe(':1\r\n')
    expect(readFileSync(file, 'latin1')).toBe('user bob on nopass\nuser role:old\n')
    expect(await control.ask('ACL', 'SAVE')).toBe('+OK\r\n')
    expect(names()).toEqual(['alice', 'default', 'role:old'])
  })

  test.each(['role:new', 'jwt:42', 'jwt@partner:42'])(
    'is written when the role or ceiling %s is changed or deleted, before the reply',
    async (name) => {
      expect(await control.ask('ACL', 'SETUSER', name, 'resetchannels')).toBe('+OK\r\n')
      expect(names()).toContain(name)
      expect(await control.ask('ACL', 'DELUSER', name)).toBe(':1\r\n')
      expect(names()).not.toContain(name)
    },
  )

  test('is not written with acl-autosave no, nor when nothing was deleted', async () => {
    const before = readFileSync(file, 'latin1')
    expect(await control.ask('ACL', 'DELUSER', 'role:nobody')).toBe(':0\r\n')
    expect(await control.ask('CONFIG', 'SET', 'acl-autosave', 'no')).toBe('+OK\r\n')
    expect(await control.ask('ACL', 'SETUSER', 'role:new')).toBe('+OK\r\n')
    expect(readFileSync(file, 'latin1')).toBe(before)
  })
})
