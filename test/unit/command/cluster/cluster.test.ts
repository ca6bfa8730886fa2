import { describe, expect, test } from 'vitest'
import type { Directives } from '../../../support/settings.ts'
import { TestCore, type ConnectOptions, type TestClient } from '../../../support/test-core.ts'

const NODE_ID = 'a'.repeat(40)
const SHARD_ID = 'b'.repeat(40)

/** A cluster of one node, whose random ids are known. */
function cluster(directives: Directives = {}): TestCore {
  const server = new TestCore({
    'cluster-enabled': 'yes',
    'cluster-announce-ip': '10.0.0.1',
    ...directives,
  })
  Object.assign(server.cluster ?? {}, { nodeId: NODE_ID, shardId: SHARD_ID })
  return server
}

function connect(directives: Directives = {}, options: ConnectOptions = {}): TestClient {
  return cluster(directives).connect({ protocol: 3, ...options })
}

const named = (hostname: string, preferred = 'ip'): Directives => ({
  'cluster-announce-hostname': hostname,
  'cluster-preferred-endpoint-type': preferred,
})

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`

describe('CLUSTER in a cluster of one node', () => {
  test('SLOTS answers one range and its node', () => {
    const range = '*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n'
    const node = `:6380\r\n${bulk(NODE_ID)}`
    expect(connect().send('CLUSTER', 'SLOTS')).toBe(`${range}${bulk('10.0.0.1')}${node}%0\r\n`)
    expect(connect({}, { protocol: 2 }).send('CLUSTER', 'SLOTS')).toBe(
      `${range}${bulk('10.0.0.1')}${node}*0\r\n`,
    )
  })

  test('SLOTS answers what is preferred, and the rest as metadata', () => {
    const slots = (directives: Directives): string =>
      connect(directives)
        .send('CLUSTER', 'SLOTS')
        .slice('*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n'.length)
    const node = `:6380\r\n${bulk(NODE_ID)}`
    const ip = `${bulk('ip')}${bulk('10.0.0.1')}`
    const name = `${bulk('hostname')}${bulk('a.example')}`
    expect(slots(named('a.example'))).toBe(`${bulk('10.0.0.1')}${node}%1\r\n${name}`)
    expect(slots(named('a.example', 'hostname'))).toBe(`${bulk('a.example')}${node}%1\r\n${ip}`)
    expect(slots(named('', 'hostname'))).toBe(`${bulk('?')}${node}%1\r\n${ip}`)
    expect(slots(named('a.example', 'unknown-endpoint'))).toBe(`_\r\n${node}%2\r\n${ip}${name}`)
  })

  test('SHARDS answers one shard with its slots and its node', () => {
    const head = '*1\r\n%2\r\n$5\r\nslots\r\n*2\r\n:0\r\n:16383\r\n$5\r\nnodes\r\n*1\r\n'
    const tail =
      `${bulk('role')}${bulk('master')}${bulk('replication-offset')}:0\r\n` +
      `${bulk('health')}${bulk('online')}`
    expect(connect().send('CLUSTER', 'SHARDS')).toBe(
      `${head}%7\r\n${bulk('id')}${bulk(NODE_ID)}${bulk('port')}:6380\r\n${bulk('ip')}${bulk('10.0.0.1')}` +
        `${bulk('endpoint')}${bulk('10.0.0.1')}${tail}`,
    )
    expect(
      connect(named('h', 'unknown-endpoint'), { transport: 'tls' }).send('CLUSTER', 'SHARDS'),
    ).toBe(
      `${head}%8\r\n${bulk('id')}${bulk(NODE_ID)}${bulk('tls-port')}:6380\r\n${bulk('ip')}${bulk('10.0.0.1')}` +
        `${bulk('endpoint')}${bulk('')}${bulk('hostname')}${bulk('h')}${tail}`,
    )
  })

  test('NODES and INFO are texts', () => {
    expect(connect({}, { protocol: 2 }).send('CLUSTER', 'NODES')).toBe(
      bulk(`${NODE_ID} 10.0.0.1:6380@16380 myself,master - 0 0 1 connected 0-16383\n`),
    )
    expect(connect(named('h'), { protocol: 2 }).send('CLUSTER', 'NODES')).toContain(
      ' 10.0.0.1:6380@16380,h myself,master ',
    )
    const info = connect().send('CLUSTER', 'INFO')
    expect(info).toMatch(/^=316\r\ntxt:cluster_state:ok\r\ncluster_slots_assigned:16384\r\n/)
    expect(info).toContain('\r\ncluster_known_nodes:1\r\ncluster_size:1\r\n')
  })

  test.each([
    [['MYID'], bulk(NODE_ID)],
    [['MYSHARDID'], bulk(SHARD_ID)],
    [['KEYSLOT', 'foo'], ':12182\r\n'],
    [['KEYSLOT', 'a{b}c{d}'], ':3300\r\n'],
    [['KEYSLOT', ''], ':0\r\n'],
    [['COUNTKEYSINSLOT', '16383'], ':0\r\n'],
    [['COUNTKEYSINSLOT', '16384'], '-ERR Invalid slot\r\n'],
    [['COUNTKEYSINSLOT', 'x'], '-ERR value is not an integer or out of range\r\n'],
    [['GETKEYSINSLOT', '0', '10'], '*0\r\n'],
    [['GETKEYSINSLOT', '0', '-1'], '-ERR Invalid slot or number of keys\r\n'],
    [['GETKEYSINSLOT', '-1', '1'], '-ERR Invalid slot or number of keys\r\n'],
    [['GETKEYSINSLOT', '0', 'x'], '-ERR value is not an integer or out of range\r\n'],
    [['LINKS'], '*0\r\n'],
    [['REPLICAS', NODE_ID], '*0\r\n'],
    [['SLAVES', NODE_ID], '*0\r\n'],
    [['REPLICAS', 'x'], '-ERR Unknown node x\r\n'],
    [['COUNT-FAILURE-REPORTS', NODE_ID], ':0\r\n'],
    [['NONSENSE'], "-ERR unknown subcommand 'NONSENSE'. Try CLUSTER HELP.\r\n"],
    [['KEYSLOT'], "-ERR wrong number of arguments for 'cluster|keyslot' command\r\n"],
  ])('%j', (args, reply) => {
    expect(connect().send('CLUSTER', ...args)).toBe(reply)
  })

  test.each([
    ['ADDSLOTS', '1'],
    ['ADDSLOTSRANGE', '1', '2'],
    ['BUMPEPOCH'],
    ['DELSLOTS', '1'],
    ['DELSLOTSRANGE', '1', '2'],
    ['FAILOVER', 'FORCE'],
    ['FLUSHSLOTS'],
    ['FORGET', NODE_ID],
    ['MEET', '10.0.0.2', '6380'],
    ['REPLICATE', NODE_ID],
    ['RESET'],
    ['SAVECONFIG'],
    ['SET-CONFIG-EPOCH', '1'],
    ['SETSLOT', '1', 'STABLE'],
  ])('%s is refused: one node has all slots', (name, ...args) => {
    expect(connect().send('CLUSTER', name, ...args)).toBe(
      `-ERR CLUSTER ${name} is not supported: this server is a cluster of one node that owns all slots\r\n`,
    )
  })

  test('HELP has Redis layout', () => {
    const text = connect().send('CLUSTER', 'HELP')
    expect(text).toContain(
      '\r\n+CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n',
    )
    expect(text).toMatch(/\+HELP\r\n\+ {4}Print this help\.\r\n$/)
  })
})

describe('A cluster', () => {
  test('has one database', () => {
    const client = connect()
    expect(client.send('SELECT', '0')).toBe('+OK\r\n')
    expect(client.send('SELECT', '1')).toBe('-ERR SELECT is not allowed in cluster mode\r\n')
    expect(client.send('SELECT', 'x')).toBe('-ERR value is not an integer or out of range\r\n')
  })

  test('says so in HELLO and INFO', () => {
    const client = connect()
    expect(client.send('HELLO')).toContain('$4\r\nmode\r\n$7\r\ncluster\r\n')
    expect(client.send('INFO', 'cluster')).toContain('cluster_enabled:1\r\n')
  })

  test('takes READONLY, READWRITE and ASKING; RESET undoes them', () => {
    const client = connect()
    expect(client.send('READONLY')).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'INFO')).toContain(' flags=r ')
    expect(client.send('READWRITE')).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'INFO')).toContain(' flags=N ')
    expect(client.send('ASKING')).toBe('+OK\r\n')
    client.send('READONLY')
    client.send('RESET')
    expect(client.send('CLIENT', 'INFO')).toContain(' flags=N ')
  })

  test('has no other master to follow', () => {
    const client = connect()
    expect(client.send('REPLICAOF', 'NO', 'ONE')).toBe(
      '-ERR REPLICAOF not allowed in cluster mode.\r\n',
    )
    expect(client.send('FAILOVER')).toBe(
      '-ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.\r\n',
    )
  })
})

describe('Without a cluster', () => {
  const DISABLED = '-ERR This instance has cluster support disabled\r\n'

  test.each([
    ['CLUSTER', 'INFO'],
    ['CLUSTER', 'HELP'],
    ['CLUSTER', 'KEYSLOT', 'a'],
    ['CLUSTER', 'MEET', 'a', '1'],
    ['READONLY'],
    ['READWRITE'],
    ['ASKING'],
  ])('%s %s is disabled', (...args) => {
    expect(new TestCore().connect().send(...args)).toBe(DISABLED)
  })

  test('subcommand and number of arguments are looked at first', () => {
    const client = new TestCore().connect()
    expect(client.send('CLUSTER')).toBe("-ERR wrong number of arguments for 'cluster' command\r\n")
    expect(client.send('CLUSTER', 'x')).toBe("-ERR unknown subcommand 'x'. Try CLUSTER HELP.\r\n")
    expect(client.send('CLUSTER', 'INFO', 'x')).toBe(
      "-ERR wrong number of arguments for 'cluster|info' command\r\n",
    )
  })

  test('shard channels have no slots', () => {
    const client = new TestCore().connect({ protocol: 3 })
    expect(client.send('SSUBSCRIBE', 'a', 'b')).toContain(':2\r\n')
    expect(client.send('HELLO')).toContain('$4\r\nmode\r\n$10\r\nstandalone\r\n')
    expect(client.send('INFO', 'cluster')).toContain('cluster_enabled:0\r\n')
  })
})
