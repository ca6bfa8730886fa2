import { describe, expect, test } from 'vitest'
import { parseClient } from '../../../../../web/console/model/client-list.ts'

describe('the list of clients', () => {
  test('a line of CLIENT LIST is a connection, escapes undone', () => {
    const line =
      'id=7 addr=[::1]:5 name= age=61 idle=1 sub=2 psub=1 ssub=1 omem=10 obl=1 tot-mem=99 cmd=acl|list ' +
      String.raw`user=jwt:a\x20b resp=3 jwt-sub=a\x20b jwt-exp=1800000000 origin=https://a.example transport=websocket`
    expect(parseClient(line)).toMatchObject({
      id: '7',
      address: '[::1]:5',
      user: 'jwt:a b',
      ageSeconds: 61,
      queuedBytes: 11,
      subscriptions: 4,
      command: 'acl|list',
      protocol: 'RESP3',
      origin: 'https://a.example',
      transport: 'websocket',
      tokenSubject: 'a b',
      tokenEndsAtMs: 1_800_000_000_000,
    })
    expect(parseClient('id=8 user=default').tokenEndsAtMs).toBeUndefined()
  })
})
