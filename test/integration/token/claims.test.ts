import { describe, expect, test } from 'vitest'
import { ask } from '../../support/ask.ts'
import { opener } from '../../support/opened.ts'
import { fromShop, SHOP_SECRET, shopServer } from '../../support/shop.ts'

const open = opener()

describe('claims of other shapes', () => {
  async function login(
    format: string[][],
    claims: Record<string, unknown>,
    users: string[][] = [],
  ) {
    const { server } = await shopServer(open, format, users)
    const client = await open.tcp(server, 3)
    const token = await fromShop('1', {}, SHOP_SECRET, { claims })
    return { client, reply: await ask(client, 'AUTH', 'jwt', token) }
  }

  test('a scope string', async () => {
    const { client, reply } = await login([['shop', 'claims-format', 'scope']], {
      scope: 'openid subscribe:news:* publish:chat:1',
    })
    expect(reply).toBe('OK')
    expect(await ask(client, 'TOKEN', 'WHY', 'subscribe', 'news:1')).toBe('ok')
    expect(await ask(client, 'TOKEN', 'WHY', 'publish', 'news:1')).toBe('channel')
    expect(await ask(client, 'PUBLISH', 'chat:1', 'm')).toBe(0)
  })

  test('authorization_details', async () => {
    const { client } = await login([['shop', 'claims-format', 'authorization-details']], {
      authorization_details: [{ type: 'respcast', actions: ['publish'], channels: ['a'] }],
    })
    expect(await ask(client, 'PUBLISH', 'a', 'm')).toBe(0)
    expect(await ask(client, 'TOKEN', 'WHY', 'subscribe', 'a')).toBe('command')
  })

  test('groups that stand for roles', async () => {
    const { client } = await login(
      [
        ['shop', 'claims-format', 'groups'],
        ['shop', 'roles', 'member'],
        ['shop', 'group-role', 'staff', 'member'],
      ],
      { groups: ['everyone', 'staff'] },
      [['role:member', 'off', 'resetchannels', '+subscribe', '&members']],
    )
    expect(await ask(client, 'TOKEN', 'WHY', 'subscribe', 'members')).toBe('ok')
  })

  test('one that is malformed does not log in', async () => {
    const { reply } = await login([['shop', 'claims-format', 'scope']], { scope: ['subscribe:a'] })
    expect(reply).toBe('-WRONGPASS invalid token')
  })
})
