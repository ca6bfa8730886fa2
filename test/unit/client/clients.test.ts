import { describe, expect, test } from 'vitest'
import { ClientTable } from '../../../server/client/clients.ts'
import { CLOSES } from '../../../server/client/close.ts'
import { IDS_PER_NODE } from '../../../server/control/node.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { TestCore } from '../../support/test-core.ts'

describe('The table of clients', () => {
  test('knows them by id, in the order in which they connected', () => {
    const { clients, ...server } = withTable()
    const [one, two] = [server.connect().client, server.connect().client]
    expect([one.id, two.id]).toEqual([1, 2])
    expect(clients.get(2)).toBe(two)
    expect([...clients.all()]).toEqual([one, two])
    expect(clients.size).toBe(2)
    one.close(CLOSES.peerClosed)
    expect([...clients.all()]).toEqual([two])
    expect(clients.get(1)).toBeUndefined()
    expect(server.connect().client.id).toBe(3)
  })

  test('gives ids that no other gateway gives, once this one has a number', () => {
    let number = 0
    const table = new ClientTable(new FakeClock(), () => number)
    expect([table.takeId(), table.takeId()]).toEqual([1, 2])
    number = 4_095
    expect([table.takeId(), table.takeId()]).toEqual([4_502_500_115_742_723, 4_502_500_115_742_724])
    expect(Number.isSafeInteger(4_096 * IDS_PER_NODE)).toBe(true)
  })

  test('knows them by the name of their user', () => {
    const { clients, setUser, connect } = withTable()
    setUser('ann', 'on nopass +@all')
    const [one, two] = [connect(), connect()]
    expect([...clients.ofUser('default')]).toEqual([one.client, two.client])
    one.send('AUTH', 'ann', 'x')
    expect([...clients.ofUser('default')]).toEqual([two.client])
    expect([...clients.ofUser('ann')]).toEqual([one.client])
    expect([...clients.userNames()]).toEqual(['default', 'ann'])
    one.client.close(CLOSES.peerClosed)
    expect([...clients.userNames()]).toEqual(['default'])
    expect(clients.ofUser('ann').size).toBe(0)
  })

  test('lets a client get another identity while its user is looked through', () => {
    const { clients, connect } = withTable()
    for (let i = 0; i < 3; i++) connect()
    let visits = 0
    for (const client of clients.ofUser('default')) {
      clients.setIdentity(client, { ...client.identity })
      if (++visits > 3) break
    }
    expect(visits).toBe(3)
  })

  test('does not give a closed client an identity', () => {
    const { clients, connect } = withTable()
    const { client } = connect()
    const { identity } = client
    client.close(CLOSES.quit)
    clients.setIdentity(client, { ...identity })
    expect(client.identity).toBe(identity)
    expect(clients.ofUser('default').size).toBe(0)
  })

  test('tells of each closed client once, in the order of the listeners', () => {
    const { clients, connect } = withTable()
    const told: string[] = []
    clients.onClosed((client, cause) => told.push(`one ${client.id} ${cause.name}`))
    clients.onClosed((client) => told.push(`two ${client.id}`))
    const { client } = connect()
    client.close(CLOSES.quit)
    client.close(CLOSES.peerClosed)
    expect(told).toEqual(['one 1 quit', 'two 1'])
  })
})

function withTable() {
  const server = new TestCore()
  return {
    clients: server.clients,
    connect: () => server.connect(),
    setUser: (name: string, rules: string) => server.setUser(name, rules),
  }
}
