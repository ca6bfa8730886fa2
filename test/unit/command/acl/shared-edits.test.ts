import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMITTED, coreWithControl } from '../../../support/fake-control.ts'
import { folderWith } from '../../../support/folder.ts'
import type { Directives } from '../../../support/settings.ts'
import { command } from '../../../support/test-core.ts'

/** An administrator of one of several gateways. */
function gateway(directives: Directives = {}) {
  const { server, control } = coreWithControl(directives)
  const admin = server.connect()
  /** Sends a command; `answers` say in turn what becomes of its commits. @returns The reply. */
  const ask = async (words: readonly string[], ...answers: (() => void)[]): Promise<string> => {
    admin.write(command(...words))
    for (const answer of answers) {
      answer()
      await new Promise((resolve) => void setImmediate(resolve))
    }
    await admin.settled()
    return admin.read()
  }
  const rulesOf = (name: string): string =>
    admin.send('ACL', 'LIST').match(new RegExp(`user ${name} (.*)\r\n`))?.[1] ?? ''
  return { server, control, admin, ask, rulesOf }
}

const SET = ['ACL', 'SETUSER', 'role:x', '&a', '+subscribe']
const MISSING = [{ name: 'b', fencedInMs: 8_123 }]

describe('ACL SETUSER where gateways share users', () => {
  test('changes nothing before it is in the log, and is answered when all have confirmed it', async () => {
    const { control, ask, rulesOf, server } = gateway()
    const reply = await ask(SET, () => {
      expect(server.users.get('role:x')).toBeUndefined()
      control.commitNext()
    })
    expect(reply).toBe('+OK\r\n')
    expect(rulesOf('role:x')).toContain('&a')
    const [request] = control.requests
    expect(request).toMatchObject({
      changes: [{ key: 'u:role:x' }],
      actor: { user: 'default' },
      wait: { count: 'all', ms: 1_000 },
    })
    expect(request?.enforced).toBeUndefined()
    expect(`user role:x ${request?.changes[0]?.value}`).toBe(`user role:x ${rulesOf('role:x')}`)
  })

  test('is made again on top of an edit that came first', async () => {
    const { control, ask, rulesOf } = gateway()
    const reply = await ask(
      SET,
      () => {
        control.putInForce([
          { key: 'u:role:x', value: 'off sanitize-payload resetchannels &b -@all' },
        ])
        control.answer({ state: 'conflict' })
      },
      () => control.commitNext(),
    )
    expect(reply).toBe('+OK\r\n')
    expect(rulesOf('role:x')).toContain('&b &a')
  })

  test('gives up when five others came first', async () => {
    const { control, ask } = gateway()
    const conflict = (): void => control.answer({ state: 'conflict' })
    expect(await ask(SET, conflict, conflict, conflict, conflict, conflict)).toBe(
      '-TRYAGAIN another edit of this user came first\r\n',
    )
    expect(control.requests).toHaveLength(5)
  })

  test.each([
    [
      { state: 'unreachable', isDurable: true, isSent: false },
      '-TRYAGAIN not committed: the upstream does not answer\r\n',
    ],
    [
      { state: 'unreachable', isDurable: true, isSent: true },
      '-TRYAGAIN unknown whether it is in force: the upstream does not answer\r\n',
    ],
    [{ state: 'refused', problem: 'too large' }, '-ERR not committed: too large\r\n'],
  ] as const)('is not in force here after %j', async (outcome, error) => {
    const { control, ask, server } = gateway()
    expect(await ask(SET, () => control.answer(outcome))).toBe(error)
    expect(server.users.get('role:x')).toBeUndefined()
  })

  test('says where it is in force, and who has not confirmed it', async () => {
    const { control, ask } = gateway()
    expect(await ask(SET, () => control.commitNext({ missing: MISSING }))).toBe(
      '-NOREPLICAS in force in the log and here, not confirmed by b, fenced within 8123 ms\r\n',
    )
    const behind = { isHere: false }
    expect(await ask([...SET, '&b'], () => control.commitNext(behind))).toBe(
      '-NOREPLICAS in the log, and not in force here yet\r\n',
    )
    expect(await ask([...SET, '&c'], () => control.commitNext({ isDurable: false }))).toBe(
      '-MISCONF the change is in force but not durable\r\n',
    )
  })

  test('refuses a wrong rule without a commit', async () => {
    const { control, ask } = gateway()
    expect(await ask(['ACL', 'SETUSER', 'a', '+nonsense'])).toMatch(
      /^-ERR Error in ACL SETUSER modifier '\+nonsense'/,
    )
    expect(control.requests).toEqual([])
  })

  test('does not give the password of requirepass to the others', async () => {
    const { server, control, ask } = gateway()
    control.putInForce([{ key: 'u:default', value: 'on nopass ~* &* +@all' }])
    server.set('requirepass', 'secret')
    await ask(['ACL', 'SETUSER', 'default', '-ping'], () => control.commitNext())
    expect(control.requests[0]?.changes[0]?.value).toBe('on nopass ~* &* +@all -ping')
    expect(server.users.defaultIsOpen).toBe(false)
  })

  test('edits a user of upstream-local-users here alone', async () => {
    const { control, admin, rulesOf } = gateway({ 'upstream-local-users': 'ops' })
    expect(admin.send('ACL', 'SETUSER', 'ops', 'on', '+ping')).toBe('+OK\r\n')
    expect(rulesOf('ops')).toContain('+ping')
    expect(control.requests).toEqual([])
  })

  test('is refused inside MULTI, but for users of this gateway alone', () => {
    const { admin } = gateway({ 'upstream-local-users': 'ops' })
    const refused = '-ERR Command not allowed inside a transaction where gateways share users\r\n'
    admin.send('MULTI')
    expect(admin.send('ACL', 'SETUSER', 'ops', '+get')).toBe('+QUEUED\r\n')
    expect(admin.send('ACL', 'DELUSER', 'ops')).toBe('+QUEUED\r\n')
    expect(admin.send(...SET)).toBe(refused)
    expect(admin.send('ACL', 'DELUSER', 'ops', 'a')).toBe(refused)
    expect(admin.send('ACL', 'LOAD')).toBe(refused)
  })

  test('says that the ACL file of this gateway could not be written', async () => {
    const folder = folderWith({ 'users.acl': '' })
    const { server, control, ask } = gateway({
      aclfile: join(folder, 'users.acl'),
      'acl-autosave': 'yes',
    })
    server.sharedUsers.strays(() => true, false)
    server.aclFile.save = () => Promise.resolve('no room')
    expect(await ask(SET, () => control.commitNext())).toBe(
      '-MISCONF the change is in force but not saved: no room\r\n',
    )
    expect(await ask(['ACL', 'SETUSER', 'a', 'on'], () => control.commitNext())).toBe('+OK\r\n')
  })
})

describe('ACL DELUSER where gateways share users', () => {
  test('deletes those that exist at all gateways in one change, and those of this one alone', async () => {
    const { server, control, ask } = gateway({ 'upstream-local-users': 'ops' })
    for (const name of ['a', 'b', 'ops']) server.setUser(name, 'on')
    const words = ['ACL', 'DELUSER', 'a', 'ops', 'nobody', 'b', 'a']
    const reply = await ask(words, () => {
      expect(server.users.get('ops')).toBeDefined()
      control.commitNext()
    })
    expect(reply).toBe(':3\r\n')
    expect(control.requests[0]?.changes).toEqual([
      { key: 'u:a', value: undefined },
      { key: 'u:b', value: undefined },
    ])
    expect(server.users.names()).toEqual(['default'])
  })

  test('keeps all of them after an error', async () => {
    const { server, control, ask } = gateway({ 'upstream-local-users': 'ops' })
    for (const name of ['a', 'ops']) server.setUser(name, 'on')
    const lost = { state: 'unreachable', isDurable: true, isSent: false } as const
    expect(await ask(['ACL', 'DELUSER', 'a', 'ops'], () => control.answer(lost))).toMatch(
      /^-TRYAGAIN not committed/,
    )
    expect(await ask(['ACL', 'DELUSER', 'a', 'default'])).toBe(
      "-ERR The 'default' user cannot be removed\r\n",
    )
    expect(server.users.names()).toEqual(['a', 'default', 'ops'])
  })

  test('of nobody is answered at once', async () => {
    const { control, ask } = gateway()
    expect(await ask(['ACL', 'DELUSER', 'a'])).toBe(':0\r\n')
    expect(control.requests).toEqual([])
  })
})

describe('ACL LOAD where gateways share users', () => {
  function withFile(text: string, directives: Directives = {}) {
    const path = join(folderWith({ 'users.acl': '' }), 'users.acl')
    const tested = gateway({ aclfile: path, ...directives })
    writeFileSync(path, text, 'latin1')
    return tested
  }

  test('commits what differs from the file as one change', async () => {
    const file =
      'user a on &x +ping\nuser new on\nuser default on nopass ~* &* +@all\nuser ops on +get\n'
    const { server, control, ask, rulesOf } = withFile(file, { 'upstream-local-users': 'ops lost' })
    server.setUser('a', 'on &x +ping')
    server.setUser('gone', 'on')
    server.setUser('lost', 'on')
    const reply = await ask(['ACL', 'LOAD'], () => {
      expect(server.users.get('ops')).toBeUndefined()
      control.commitNext()
    })
    expect(reply).toBe('+OK\r\n')
    expect(
      control.requests[0]?.changes.map(({ key, value }) => [key, value !== undefined]),
    ).toEqual([
      ['u:new', true],
      ['u:gone', false],
    ])
    expect(server.users.names()).toEqual(['a', 'default', 'new', 'ops'])
    expect(rulesOf('ops')).toContain('+get')
  })

  test('without a user default in the file makes it the built-in one', async () => {
    const { server, control, ask } = withFile('user a on\n')
    server.setUser('default', '-ping')
    await ask(['ACL', 'LOAD'], () => control.commitNext())
    expect(control.requests[0]?.changes.map(({ key }) => key)).toEqual(['u:default', 'u:a'])
    expect(control.requests[0]?.changes[0]?.value).toContain('+@all')
  })

  test('commits very many in several changes, and says how far it came', async () => {
    const lines = Array.from({ length: 1_500 }, (_, at) => `user u${at} on`)
    const { control, ask, server } = withFile(lines.join('\n'))
    const lost = { state: 'unreachable', isDurable: true, isSent: false } as const
    const load = ['ACL', 'LOAD']
    expect(
      await ask(
        load,
        () => control.commitNext(),
        () => control.answer(lost),
      ),
    ).toBe(
      '-TRYAGAIN not committed: the upstream does not answer (1000 changes were committed: load it again)\r\n',
    )
    expect(await ask(load, () => control.commitNext({ missing: MISSING }))).toMatch(
      /^-NOREPLICAS in force in the log and here, not confirmed by b/,
    )
    expect(server.users.names()).toHaveLength(1_501)
    expect(await ask(load)).toBe('+OK\r\n')
  })

  test('stops where this gateway is behind with the log', async () => {
    const { control, ask } = withFile('user a on\n')
    expect(await ask(['ACL', 'LOAD'], () => control.answer({ ...COMMITTED, isHere: false }))).toBe(
      '-NOREPLICAS in the log, and not in force here yet (1 changes were committed: load it again)\r\n',
    )
  })

  test('changes nothing if a line of the file is wrong', async () => {
    const { control, ask } = withFile('user a on +nonsense\n')
    expect(await ask(['ACL', 'LOAD'])).toMatch(
      /^-ERR .*no change to the previously active ACL rules/,
    )
    expect(control.requests).toEqual([])
  })
})
