import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { command, TestCore } from '../../support/test-core.ts'
import { folderWith } from '../../support/folder.ts'

let path = ''
let server: TestCore

beforeEach(() => {
  path = join(folderWith({ 'users.acl': 'user default on nopass ~* &* +@all\n' }), 'users.acl')
  server = new TestCore({ aclfile: path })
})

const saved = (): string => readFileSync(path, 'latin1')
const SET = ['ACL', 'SETUSER', 'role:x', '&a'] as const
const CANNOT_SAVE =
  'There was an error trying to save the ACLs. Please check the server logs for more information\r\n'
const NOT_SAVED = `-MISCONF the change is in force but not saved: ${CANNOT_SAVE}`

/** Makes the file impossible to write. @returns A function that makes it possible again. */
function breakDisk(): () => void {
  rmSync(path)
  mkdirSync(path)
  return () => rmdirSync(path)
}

describe('A change of a role', () => {
  test('is answered when it is in the file, and other clients do not wait for that', async () => {
    const [admin, other] = [server.connect(), server.connect()]
    admin.write(command(...SET))
    admin.write(command('PING'))
    expect(admin.read()).toBe('')
    expect(server.users.get('role:x')).toBeDefined()
    expect(other.send('PING')).toBe('+PONG\r\n')
    expect(saved()).not.toContain('role:x')
    await admin.settled()
    expect(saved()).toContain('user role:x off resetchannels &a -@all\n')
    expect(admin.read()).toBe('+OK\r\n+PONG\r\n')
  })

  test('shares its write with others that come meanwhile', async () => {
    const list = vi.spyOn(server.users, 'list')
    const admins = Array.from({ length: 50 }, () => server.connect())
    for (const [at, admin] of admins.entries()) {
      admin.write(command('ACL', 'SETUSER', `role:r${at}`, '&a'))
    }
    for (const admin of admins) await admin.settled()
    expect(admins.map((admin) => admin.read())).toEqual(admins.map(() => '+OK\r\n'))
    expect(list.mock.calls.length).toBeLessThanOrEqual(2)
    for (const at of admins.keys()) expect(saved()).toContain(`user role:r${at} `)
  })

  test('that cannot be saved is answered with MISCONF, and saved by itself later', async () => {
    const mend = breakDisk()
    const admin = server.connect()
    expect(await admin.sendAndWait(...SET)).toBe(NOT_SAVED)
    expect(server.aclFile.problem).toMatch(/^aclfile cannot be written \(E[A-Z]+\): /)
    mend()
    server.clock.advance(5_000)
    await server.aclFile.settled()
    expect(server.aclFile.problem).toBeUndefined()
    expect(saved()).toContain('user role:x ')
  })

  test('inside a transaction is in the file before EXEC answers, whatever is being written', async () => {
    const [admin, other] = [server.connect(), server.connect()]
    admin.write(command(...SET))
    other.send('MULTI')
    other.send('ACL', 'SETUSER', 'role:y', '&a')
    expect(await other.sendAndWait('EXEC')).toBe('*1\r\n+OK\r\n')
    expect(saved()).toContain('user role:y ')
    await admin.settled()
    await server.aclFile.settled()
    expect(saved()).toContain('user role:x ')
    expect(saved()).toContain('user role:y ')
  })

  test('is not lost by ACL LOAD during the write', async () => {
    const [admin, other] = [server.connect(), server.connect()]
    admin.write(command(...SET))
    expect(await other.sendAndWait('ACL', 'LOAD')).toBe('+OK\r\n')
    await admin.settled()
    expect(admin.read()).toBe('+OK\r\n')
    expect(server.users.get('role:x')).toBeDefined()
  })

  test('is not lost by ACL LOAD inside EXEC during the write, and other clients do not wait for the disk', async () => {
    const [admin, other, third] = [server.connect(), server.connect(), server.connect()]
    admin.write(command(...SET))
    other.send('MULTI')
    other.send('ACL', 'SETUSER', 'role:y', '&a')
    other.send('ACL', 'LOAD')
    other.send('ACL', 'SETUSER', 'role:z', '&a')
    other.write(command('EXEC'))
    expect(saved()).not.toContain('role:')
    expect(third.send('PING')).toBe('+PONG\r\n')
    await other.settled()
    expect(other.read()).toBe('*3\r\n+OK\r\n+OK\r\n+OK\r\n')
    for (const name of ['role:x', 'role:y', 'role:z']) {
      expect(server.users.get(name)).toBeDefined()
      expect(saved()).toContain(`user ${name} `)
    }
  })

  test('that cannot be saved is in force after ACL LOAD inside EXEC, which says so', async () => {
    breakDisk()
    const admin = server.connect()
    admin.send('MULTI')
    admin.send(...SET)
    admin.send('ACL', 'LOAD')
    const reply = await admin.sendAndWait('EXEC')
    expect(reply).toBe(`*2\r\n${NOT_SAVED}-ERR ${CANNOT_SAVE}`)
    expect(server.users.get('role:x')).toBeDefined()
  })

  test('is written before the server ends', async () => {
    const admin = server.connect()
    admin.write(command(...SET))
    await server.stop()
    expect(saved()).toContain('user role:x ')
  })
})

test('A file of many users is whole, as of one moment', async () => {
  for (let at = 0; at < 1_700; at++) server.setUser(`role:u${at}`, '&a')
  const admin = server.connect()
  admin.write(command('ACL', 'SAVE'))
  server.setUser('role:u0', '&b')
  await admin.settled()
  expect(admin.read()).toBe('+OK\r\n')
  expect(saved().split('\n')).toHaveLength(1_702)
  writeFileSync(`${path}.copy`, saved())
  expect(await admin.sendAndWait('ACL', 'LOAD')).toBe('+OK\r\n')
  expect(saved()).toBe(readFileSync(`${path}.copy`, 'latin1'))
})
