import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../server/control/part.ts'
import type { Register } from '../../../server/control/register.ts'
import { describeUser } from '../../../server/acl/describe.ts'
import { passwordLogsIn } from '../../../server/acl/password.ts'
import { folderWith } from '../../support/folder.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import type { Directives } from '../../support/settings.ts'
import { TestCore } from '../../support/test-core.ts'
import { tokenFor } from '../../support/tokens.ts'

const CHANGE: Change = {
  origin: { node: '00000000000000aa', user: 'ops', address: '10.0.0.9:5' },
  atMs: 1,
  isLate: false,
}

const register = (name: string, value: string | undefined): Register => ({
  key: `u:${name}`,
  version: 1,
  uuid: '00112233445566aa',
  value,
})

function gateway(directives: Directives = {}) {
  const { log, lines } = recordedLog()
  const core = new TestCore(directives, log)
  const part = core.sharedUsers
  const apply = (users: Readonly<Record<string, string | undefined>>) =>
    part.apply(
      Object.entries(users).map(([name, value]) => register(name, value)),
      CHANGE,
    )
  const token = async (grants: object, claims: Record<string, unknown> = {}) => {
    const client = core.connect({ transport: 'websocket' })
    await client.sendAndWait('AUTH', 'jwt', tokenFor(grants, claims))
    return client
  }
  const rules = (name: string): string | undefined => {
    const user = core.users.get(name)
    return user && describeUser(user)
  }
  return { core, part, lines, apply, token, rules }
}

const MEMBER = 'off resetchannels &news &chat -@all +subscribe'
const LESS = 'off resetchannels &chat -@all +subscribe'

describe('A user of another gateway', () => {
  test('is in force within the call: made, changed, deleted', () => {
    const { core, apply, rules } = gateway()
    apply({ ann: 'on nopass ~* resetchannels &a +@all' })
    expect(rules('ann')).toBe('user ann on nopass ~* resetchannels &a +@all')
    const client = core.connect()
    client.send('AUTH', 'ann', 'x')
    expect(apply({ ann: 'on nopass ~* resetchannels &a -@all' })).toBe(0)
    expect(client.send('PING')).toContain('-NOPERM')
    expect(apply({ ann: undefined })).toBe(1)
    expect([rules('ann'), client.client.closed]).toEqual([undefined, true])
  })

  test('closes the clients with a subscription that it no longer covers, and counts them', () => {
    const { core, apply } = gateway()
    apply({ ann: 'on nopass &a &b +@all', bob: 'on nopass &a +@all' })
    const clients = ['ann', 'ann', 'bob'].map((name) => {
      const client = core.connect()
      client.send('AUTH', name, 'x')
      client.send('SUBSCRIBE', 'a')
      return client
    })
    core.connect().send('SUBSCRIBE', 'a')
    expect(apply({ ann: 'on nopass resetchannels &b +@all', bob: undefined })).toBe(3)
    expect(clients.every(({ client }) => client.closed)).toBe(true)
  })

  test('of a role takes subscriptions from token sessions, and counts a session once', async () => {
    const { apply, token, core } = gateway()
    apply({ 'role:m': MEMBER, 'role:n': 'off resetchannels &x -@all', 'jwt:42': 'on ~* &* +@all' })
    const [hit, spared] = [
      await token({ roles: ['m', 'n'] }),
      await token({ roles: ['n'] }, { sub: '43' }),
    ]
    hit.send('SUBSCRIBE', 'news')
    expect(apply({ 'role:m': LESS, 'role:n': 'off -@all', 'jwt:42': undefined })).toBe(1)
    expect([hit.client.closed, spared.client.closed]).toEqual([true, false])
    expect(core.tokens.size).toBe(1)
  })

  test('that leaves a session all that it has hits nobody', async () => {
    const { apply, token } = gateway({ 'ws-revocation': 'unsubscribe' })
    apply({ 'role:m': MEMBER })
    const client = await token({ roles: ['m'] })
    client.send('SUBSCRIBE', 'chat')
    expect(apply({ 'role:m': LESS })).toBe(0)
    client.send('SUBSCRIBE', 'chat')
    expect(apply({ 'role:m': 'off -@all +subscribe' })).toBe(1)
    expect(client.client.closed).toBe(false)
    expect(client.client.subscriptions.any).toBe(false)
  })

  test('is told to listeners once for all users of an entry, without those that are as before', () => {
    const { core, apply } = gateway()
    apply({ ann: 'on', bob: 'on' })
    const heard: string[][] = []
    core.users.onChange((changes) => {
      heard.push(changes.map(({ name }) => name))
      return 0
    })
    apply({ ann: 'on', bob: 'off', carl: 'on', nobody: undefined })
    apply({ ann: 'on' })
    expect(heard).toEqual([['bob', 'carl']])
  })
})

describe('A value', () => {
  test('is the rules as a line of an ACL file has them', () => {
    const { core, part } = gateway()
    core.setUser('jos\xc3\xa9', 'on >pw ~* &a* +@all (&b -@all +publish)')
    const value = part.valueOf('jos\xc3\xa9') ?? ''
    expect(`user jos\xc3\xa9 ${value}`).toBe(describeUser(core.users.get('jos\xc3\xa9') as never))
    expect(part.accepts('x', value)).toBe(true)
    expect(part.valueOf('nobody')).toBeUndefined()
  })

  test.each([
    ['an unknown rule', 'ann', 'on foo'],
    ['an unknown command', 'ann', '+nocmd|x|y'],
    ['a selector without its end', 'ann', 'on (&a'],
    ['a name with a blank', 'an n', 'on'],
    ['a role with a placeholder that there is not', 'role:x', '&{nothing}'],
  ])('is refused if it has %s', (_title, name, value) => {
    const { part } = gateway()
    expect(part.accepts(name, value)).toBe(false)
  })
})

describe('upstream-local-users', () => {
  const LOCAL = { 'upstream-local-users': 'breakglass default' }

  test('are neither shared, nor replaced, nor dropped', () => {
    const { core, part, apply, rules } = gateway(LOCAL)
    core.setUser('breakglass', 'on >secret +@all')
    const before = [rules('breakglass'), rules('default')]
    expect([...part.names()]).toEqual([])
    expect(part.valueOf('breakglass')).toBeUndefined()
    expect(part.accepts('breakglass', 'off')).toBe(true)
    apply({ breakglass: 'off', default: 'off -@all' })
    apply({ breakglass: undefined })
    expect(part.strays(() => false, false)).toEqual([])
    expect([rules('breakglass'), rules('default')]).toEqual(before)
  })
})

describe('The user default', () => {
  test('is shared as any other, and cannot be deleted', () => {
    const { apply, rules, part } = gateway()
    apply({ default: 'on nopass &a +@all' })
    expect(rules('default')).toBe('user default on nopass resetchannels &a +@all')
    apply({ default: undefined })
    expect(rules('default')).toBe('user default on nopass resetchannels &a +@all')
    expect(part.strays(() => false, false)).toEqual([])
  })

  test('has the password of the namespace, whatever requirepass says', () => {
    const { core, apply } = gateway({ requirepass: 'mine' })
    apply({ default: `on #${'a'.repeat(64)} ~* &* +@all` })
    expect(core.users.default.passwords).toEqual(['a'.repeat(64)])
  })

  test('is not opened by the namespace while requirepass is set, and stays open there', () => {
    const { core, apply, part } = gateway({ requirepass: 'mine' })
    apply({ default: 'on nopass ~* &* +@all' })
    expect(core.users.defaultIsOpen).toBe(false)
    expect(passwordLogsIn(core.users.default, 'mine')).toBe(true)
    expect(part.valueOf('default')).toBe('on nopass ~* &* +@all')
    core.setUser('default', '>other')
    expect(part.valueOf('default')).toContain('#')
  })
})

describe('A gateway that joins', () => {
  test('as the first brings all of its users', () => {
    const { core, part, lines } = gateway()
    core.setUser('role:m', '&a')
    expect(part.strays(() => false, true)).toEqual([
      { name: 'default', value: 'on nopass ~* &* +@all' },
      { name: 'role:m', value: 'off resetchannels &a -@all' },
    ])
    expect(core.users.names()).toEqual(['default', 'role:m'])
    expect(lines).toEqual([])
  })

  test('later drops those that the namespace does not know, and says so in one line', () => {
    const { core, part, lines } = gateway()
    for (const name of ['ann', 'b\xe9', 'known']) core.setUser(name, 'on nopass +@all')
    const client = core.connect()
    client.send('AUTH', 'ann', 'x')
    expect(part.strays((name) => name === 'known', false)).toEqual([])
    expect(core.users.names()).toEqual(['default', 'known'])
    expect(client.client.closed).toBe(true)
    const warnings = lines.filter(({ level }) => level === 'warn')
    expect(warnings).toMatchObject([{ users: ['ann', expect.any(String)], count: 2 }])
  })
})

describe('The ACL file', () => {
  const withFile = (autosave = 'yes') => {
    const path = join(
      folderWith({ 'users.acl': 'user default on nopass ~* &* +@all\nuser mine on\n' }),
      'users.acl',
    )
    return {
      ...gateway({ aclfile: path, 'acl-autosave': autosave }),
      saved: () => readFileSync(path, 'latin1'),
    }
  }

  test('follows changes of roles and ceilings, once its gateway has joined', async () => {
    const { core, apply, part, saved } = withFile()
    const before = saved()
    apply({ 'role:m': MEMBER })
    await core.aclFile.settled()
    part.strays((name) => name === 'role:m', false)
    await core.aclFile.settled()
    expect(saved()).toBe(before)
    apply({ ann: 'on' })
    await core.aclFile.settled()
    expect(saved()).toBe(before)
    apply({ 'role:m': LESS })
    await core.aclFile.settled()
    expect(saved()).toContain(`user role:m ${LESS}\n`)
    expect(saved()).not.toContain('mine')
  })

  test('is left alone without acl-autosave', async () => {
    const { core, apply, part, saved } = withFile('no')
    part.strays(() => true, false)
    apply({ 'role:m': MEMBER })
    await core.aclFile.settled()
    expect(saved()).not.toContain('role:m')
  })
})
