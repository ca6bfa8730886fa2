import { describe, expect, test } from 'vitest'
import { ALL_COMMANDS } from '../../../server/command/commands.ts'
import { TestCore } from '../../support/test-core.ts'

/** COMMAND INFO of Redis 8.0: name and arity | flags | categories | first key, last key, step | group and version. */
const ROWS = `
  publish 3 | pubsub loading stale fast | @pubsub @fast | 0,0,0 | pubsub 2.0.0
  subscribe -2 | pubsub noscript loading stale | @pubsub @slow | 0,0,0 | pubsub 2.0.0
  psubscribe -2 | pubsub noscript loading stale | @pubsub @slow | 0,0,0 | pubsub 2.0.0
  unsubscribe -1 | pubsub noscript loading stale | @pubsub @slow | 0,0,0 | pubsub 2.0.0
  punsubscribe -1 | pubsub noscript loading stale | @pubsub @slow | 0,0,0 | pubsub 2.0.0
  ssubscribe -2 | pubsub noscript loading stale | @pubsub @slow | 1,-1,1 | pubsub 7.0.0
  sunsubscribe -1 | pubsub noscript loading stale | @pubsub @slow | 1,-1,1 | pubsub 7.0.0
  spublish 3 | pubsub loading stale fast | @pubsub @fast | 1,1,1 | pubsub 7.0.0
  pubsub -2 | | @slow | 0,0,0 | pubsub 2.8.0
  pubsub|channels -2 | pubsub loading stale | @pubsub @slow | 0,0,0 | pubsub 2.8.0
  pubsub|help 2 | loading stale | @slow | 0,0,0 | pubsub 6.2.0
  pubsub|numpat 2 | pubsub loading stale | @pubsub @slow | 0,0,0 | pubsub 2.8.0
  pubsub|numsub -2 | pubsub loading stale | @pubsub @slow | 0,0,0 | pubsub 2.8.0
  pubsub|shardchannels -2 | pubsub loading stale | @pubsub @slow | 0,0,0 | pubsub 7.0.0
  pubsub|shardnumsub -2 | pubsub loading stale | @pubsub @slow | 0,0,0 | pubsub 7.0.0
  acl -2 | | @slow | 0,0,0 | server 6.0.0
  acl|cat -2 | noscript loading stale | @slow | 0,0,0 | server 6.0.0
  acl|deluser -3 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|dryrun -4 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 7.0.0
  acl|genpass -2 | noscript loading stale | @slow | 0,0,0 | server 6.0.0
  acl|getuser 3 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|help 2 | loading stale | @slow | 0,0,0 | server 6.0.0
  acl|list 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|load 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|log -2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|save 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|setuser -3 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|users 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 6.0.0
  acl|whoami 2 | noscript loading stale | @slow | 0,0,0 | server 6.0.0
  auth -2 | noscript loading stale fast no_auth allow_busy | @fast @connection | 0,0,0 | connection 1.0.0
  hello -1 | noscript loading stale fast no_auth allow_busy | @fast @connection | 0,0,0 | connection 6.0.0
  quit -1 | noscript loading stale fast no_auth allow_busy | @fast @connection | 0,0,0 | connection 1.0.0
  reset 1 | noscript loading stale fast no_auth allow_busy | @fast @connection | 0,0,0 | connection 6.2.0
  ping -1 | fast | @fast @connection | 0,0,0 | connection 1.0.0
  echo 2 | loading stale fast | @fast @connection | 0,0,0 | connection 1.0.0
  select 2 | loading stale fast | @fast @connection | 0,0,0 | connection 1.0.0
  client -2 | | @slow | 0,0,0 | connection 2.4.0
  client|caching 3 | noscript loading stale | @slow @connection | 0,0,0 | connection 6.0.0
  client|getname 2 | noscript loading stale | @slow @connection | 0,0,0 | connection 2.6.9
  client|getredir 2 | noscript loading stale | @slow @connection | 0,0,0 | connection 6.0.0
  client|help 2 | loading stale | @slow @connection | 0,0,0 | connection 5.0.0
  client|id 2 | noscript loading stale | @slow @connection | 0,0,0 | connection 5.0.0
  client|info 2 | noscript loading stale | @slow @connection | 0,0,0 | connection 6.2.0
  client|kill -3 | admin noscript loading stale | @admin @slow @dangerous @connection | 0,0,0 | connection 2.4.0
  client|list -2 | admin noscript loading stale | @admin @slow @dangerous @connection | 0,0,0 | connection 2.4.0
  client|no-evict 3 | admin noscript loading stale | @admin @slow @dangerous @connection | 0,0,0 | connection 7.0.0
  client|no-touch 3 | noscript loading stale | @slow @connection | 0,0,0 | connection 7.2.0
  client|pause -3 | admin noscript loading stale | @admin @slow @dangerous @connection | 0,0,0 | connection 3.0.0
  client|reply 3 | noscript loading stale | @slow @connection | 0,0,0 | connection 3.2.0
  client|setinfo 4 | noscript loading stale | @slow @connection | 0,0,0 | connection 7.2.0
  client|setname 3 | noscript loading stale | @slow @connection | 0,0,0 | connection 2.6.9
  client|tracking -3 | noscript loading stale | @slow @connection | 0,0,0 | connection 6.0.0
  client|trackinginfo 2 | noscript loading stale | @slow @connection | 0,0,0 | connection 6.2.0
  client|unblock -3 | admin noscript loading stale | @admin @slow @dangerous @connection | 0,0,0 | connection 5.0.0
  client|unpause 2 | admin noscript loading stale | @admin @slow @dangerous @connection | 0,0,0 | connection 6.2.0
  config -2 | | @slow | 0,0,0 | server 2.0.0
  config|get -3 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.0.0
  config|help 2 | loading stale | @slow | 0,0,0 | server 5.0.0
  config|resetstat 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.0.0
  config|rewrite 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.8.0
  config|set -4 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.0.0
  info -1 | loading stale | @slow @dangerous | 0,0,0 | server 1.0.0
  command -1 | loading stale | @slow @connection | 0,0,0 | server 2.8.13
  command|count 2 | loading stale | @slow @connection | 0,0,0 | server 2.8.13
  command|docs -2 | loading stale | @slow @connection | 0,0,0 | server 7.0.0
  command|getkeys -3 | loading stale | @slow @connection | 0,0,0 | server 2.8.13
  command|getkeysandflags -3 | loading stale | @slow @connection | 0,0,0 | server 7.0.0
  command|help 2 | loading stale | @slow @connection | 0,0,0 | server 5.0.0
  command|info -2 | loading stale | @slow @connection | 0,0,0 | server 2.8.13
  command|list -2 | loading stale | @slow @connection | 0,0,0 | server 7.0.0
  multi 1 | noscript loading stale fast allow_busy | @fast @transaction | 0,0,0 | transactions 1.2.0
  exec 1 | noscript loading stale skip_slowlog | @slow @transaction | 0,0,0 | transactions 1.2.0
  discard 1 | noscript loading stale fast allow_busy | @fast @transaction | 0,0,0 | transactions 2.0.0
  watch -2 | noscript loading stale fast allow_busy | @fast @transaction | 1,-1,1 | transactions 2.2.0
  unwatch 1 | noscript loading stale fast allow_busy | @fast @transaction | 0,0,0 | transactions 2.2.0
  time 1 | loading stale fast | @fast | 0,0,0 | server 2.6.0
  role 1 | noscript loading stale fast | @admin @fast @dangerous | 0,0,0 | server 2.8.12
  lolwut -1 | readonly fast | @read @fast | 0,0,0 | server 5.0.0
  shutdown -1 | admin noscript loading stale no_multi allow_busy | @admin @slow @dangerous | 0,0,0 | server 1.0.0
  monitor 1 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 1.0.0
  slowlog -2 | | @slow | 0,0,0 | server 2.2.12
  slowlog|get -2 | admin loading stale | @admin @slow @dangerous | 0,0,0 | server 2.2.12
  slowlog|help 2 | loading stale | @slow | 0,0,0 | server 6.2.0
  slowlog|len 2 | admin loading stale | @admin @slow @dangerous | 0,0,0 | server 2.2.12
  slowlog|reset 2 | admin loading stale | @admin @slow @dangerous | 0,0,0 | server 2.2.12
  latency -2 | | @slow | 0,0,0 | server 2.8.13
  latency|doctor 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.8.13
  latency|graph 3 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.8.13
  latency|help 2 | loading stale | @slow | 0,0,0 | server 2.8.13
  latency|histogram -2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 7.0.0
  latency|history 3 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.8.13
  latency|latest 2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.8.13
  latency|reset -2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 2.8.13
  memory -2 | | @slow | 0,0,0 | server 4.0.0
  memory|doctor 2 | | @slow | 0,0,0 | server 4.0.0
  memory|help 2 | loading stale | @slow | 0,0,0 | server 4.0.0
  memory|malloc-stats 2 | | @slow | 0,0,0 | server 4.0.0
  memory|purge 2 | | @slow | 0,0,0 | server 4.0.0
  memory|stats 2 | | @slow | 0,0,0 | server 4.0.0
  memory|usage -3 | readonly | @read @slow | 2,2,1 | server 4.0.0
  cluster -2 | | @slow | 0,0,0 | cluster 3.0.0
  cluster|addslots -3 | admin stale no_async_loading | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|addslotsrange -4 | admin stale no_async_loading | @admin @slow @dangerous | 0,0,0 | cluster 7.0.0
  cluster|count-failure-reports 3 | admin stale | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|countkeysinslot 3 | stale | @slow | 0,0,0 | cluster 3.0.0
  cluster|delslots -3 | admin stale no_async_loading | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|getkeysinslot 4 | stale | @slow | 0,0,0 | cluster 3.0.0
  cluster|help 2 | loading stale | @slow | 0,0,0 | cluster 5.0.0
  cluster|info 2 | stale | @slow | 0,0,0 | cluster 3.0.0
  cluster|keyslot 3 | stale | @slow | 0,0,0 | cluster 3.0.0
  cluster|links 2 | stale | @slow | 0,0,0 | cluster 7.0.0
  cluster|meet -4 | admin stale no_async_loading | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|myid 2 | stale | @slow | 0,0,0 | cluster 3.0.0
  cluster|myshardid 2 | stale | @slow | 0,0,0 | cluster 7.2.0
  cluster|nodes 2 | stale | @slow | 0,0,0 | cluster 3.0.0
  cluster|replicas 3 | admin stale | @admin @slow @dangerous | 0,0,0 | cluster 5.0.0
  cluster|reset -2 | admin noscript stale | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|setslot -4 | admin stale no_async_loading | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|shards 2 | loading stale | @slow | 0,0,0 | cluster 7.0.0
  cluster|slaves 3 | admin stale | @admin @slow @dangerous | 0,0,0 | cluster 3.0.0
  cluster|slots 2 | loading stale | @slow | 0,0,0 | cluster 3.0.0
  wait 3 | blocking | @slow @blocking @connection | 0,0,0 | generic 3.0.0
  waitaof 4 | blocking | @slow @blocking @connection | 0,0,0 | generic 7.2.0
  dbsize 1 | readonly fast | @keyspace @read @fast | 0,0,0 | server 1.0.0
  lastsave 1 | loading stale fast | @admin @fast @dangerous | 0,0,0 | server 1.0.0
  readonly 1 | loading stale fast | @fast @connection | 0,0,0 | cluster 3.0.0
  readwrite 1 | loading stale fast | @fast @connection | 0,0,0 | cluster 3.0.0
  asking 1 | fast | @fast @connection | 0,0,0 | cluster 3.0.0
  module -2 | | @slow | 0,0,0 | server 4.0.0
  debug -2 | admin noscript loading stale | @admin @slow @dangerous | 0,0,0 | server 1.0.0
  failover -1 | admin noscript stale | @admin @slow @dangerous | 0,0,0 | server 6.2.0
  replicaof 3 | admin noscript stale no_async_loading | @admin @slow @dangerous | 0,0,0 | server 5.0.0
  slaveof 3 | admin noscript stale no_async_loading | @admin @slow @dangerous | 0,0,0 | server 1.0.0
  flushall -1 | write | @keyspace @write @slow @dangerous | 0,0,0 | server 1.0.0
  flushdb -1 | write | @keyspace @write @slow @dangerous | 0,0,0 | server 1.0.0
`

interface Row {
  readonly name: string
  readonly arity: string
  readonly flags: readonly string[]
  readonly categories: readonly string[]
  readonly keys: readonly string[]
  readonly group: string
  readonly since: string
}

const words = (text: string): string[] => text.split(' ').filter((word) => word !== '')

function readRow(line: string): Row {
  const [head = '', flags = '', categories = '', keys = '', tail = ''] = line.split(' | ')
  const [name = '', arity = ''] = words(head)
  const [group = '', since = ''] = words(tail)
  return {
    name,
    arity,
    flags: words(flags),
    categories: words(categories),
    keys: keys.split(','),
    group,
    since,
  }
}

const TABLE = ROWS.trim()
  .split('\n')
  .map((line) => readRow(line.replace('| |', '|  |')))

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`
const simples = (items: readonly string[]): string =>
  `*${items.length}\r\n${items.map((item) => `+${item}\r\n`).join('')}`

describe('COMMAND INFO describes commands as Redis 8.0 does:', () => {
  const server = new TestCore()
  const client = server.connect()

  test.each(TABLE)('$name', ({ name, arity, flags, categories, keys }) => {
    const row =
      `*1\r\n*10\r\n${bulk(name)}:${arity}\r\n${simples(flags)}` +
      `${keys.map((key) => `:${key}\r\n`).join('')}${simples(categories)}`
    expect(client.send('COMMAND', 'INFO', name).slice(0, row.length)).toBe(row)
  })
})

describe('COMMAND DOCS', () => {
  test.each(TABLE)('names the group and the version of $name', ({ name, group, since }) => {
    const spec = ALL_COMMANDS.find((each) => each.name === name)
    expect([spec?.group, spec?.since]).toEqual([group, since])
  })
})
