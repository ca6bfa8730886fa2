import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  DIRECTIVES,
  findDirective,
  isForeignName,
  nearestName,
} from '../../../server/config/directives.ts'
import { directivesManual } from '../../../server/config/manual.ts'
import { configOf, configOfFile, failureOf } from './support.ts'

describe('the table of directives', () => {
  test('no name and no alias stands twice', () => {
    const names = DIRECTIVES.flatMap((directive) => [directive.name, ...(directive.aliases ?? [])])
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })

  test('every default is a value of its own directive', () => {
    const shown = new Map(configOf().get(DIRECTIVES.map(({ name }) => name)))
    const visible = DIRECTIVES.filter(({ fileOnly }) => !fileOnly)
    expect([...shown.keys()]).toEqual(visible.map(({ name }) => name))
  })

  test.each([
    ['port', '6380'],
    ['bind', '127.0.0.1 -::1'],
    ['http-port', '8080'],
    ['admin-port', '8081'],
    ['ws-path', '/ws'],
    ['ws-max-payload', '65536'],
    ['ws-max-message-out', '16777216'],
    ['ws-max-subscriptions', '256'],
    ['ws-max-patterns', '16'],
    ['ws-ping-interval', '25'],
    ['ws-pong-timeout', '10'],
    ['auth-timeout', '5'],
    ['token-expiry-grace', '25'],
    ['jwt-max-lifetime', '86400'],
    ['jwt-leeway', '5'],
    ['jwt-claim', 'respcast'],
    ['placeholder-separators', ':'],
    ['token-audit-max', '67108864'],
    ['acl-pubsub-default', 'resetchannels'],
    ['protected-mode', 'yes'],
    ['maxclients', '10000'],
    ['proto-max-bulk-len', '536870912'],
    ['min-string-size-avoid-copy-reply', '16384'],
    ['save', '3600 1 300 100 60 10000'],
    ['appendonly', 'no'],
    [
      'client-output-buffer-limit',
      'normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60 websocket 1048576 262144 10',
    ],
  ])('%s is %s by default', (name, text) => {
    expect(configOf().get([name])).toEqual([[name, text]])
  })

  test.each([
    ['slave-read-only', 'replica-read-only'],
    ['repl-ping-slave-period', 'repl-ping-replica-period'],
    ['min-slaves-to-write', 'min-replicas-to-write'],
    ['cluster-slave-no-failover', 'cluster-replica-no-failover'],
    ['slaveof', 'replicaof'],
    ['lua-time-limit', 'busy-reply-threshold'],
    ['zset-max-ziplist-value', 'zset-max-listpack-value'],
    ['primaryauth', 'masterauth'],
    ['commandlog-execution-slower-than', 'slowlog-log-slower-than'],
    ['server_cpulist', 'server-cpulist'],
  ])('%s is another name of %s', (alias, name) => {
    expect(findDirective(alias)?.name).toBe(name)
  })

  test('names are found in any case, and only own ones', () => {
    expect(findDirective('PORT')?.name).toBe('port')
    expect(['__proto__', 'constructor', 'toString'].map(findDirective)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test.each(['mymodule.threads', 'search-timeout', 'bf-error-rate', 'lua-replicate-commands'])(
    '%s is let pass: a module or an old version has it',
    (name) => {
      expect(isForeignName(name)).toBe(true)
    },
  )

  test.each([
    ['prot', 'port'],
    ['maxclient', 'maxclients'],
    ['timeuot', 'timeout'],
    ['slave-prioritty', 'slave-priority'],
    ['colour', undefined],
  ])('a slip like %s is taken for %s', (name, nearest) => {
    expect(nearestName(name)).toBe(nearest)
  })
})

test('docs/directives.md says what the table says: node scripts/print-directives.mjs > docs/directives.md', () => {
  const page = new URL('../../../docs/directives.md', import.meta.url)
  expect(readFileSync(page, 'utf8')).toBe(directivesManual())
})

describe('a directive without effect that would close something', () => {
  const closing = DIRECTIVES.filter(({ closes }) => closes)

  test('is one of these; decide about each new one', () => {
    expect(closing.map(({ name }) => name)).toEqual([
      'unixsocketgroup',
      'socket-mark-id',
      'loadmodule',
      'tls-auth-clients-user',
      'tls-auto-reload-interval',
    ])
    expect(closing.filter(({ effect }) => effect !== 'none')).toEqual([])
  })

  test('is marked in docs/directives.md, with the reason, and no other is', () => {
    const page = readFileSync(new URL('../../../docs/directives.md', import.meta.url), 'utf8')
    const marked = [...page.matchAll(/^\| `([a-z-]+)`.*\*Refused\* .*: (.*)\. .*\. \|$/gm)]
    expect(marked.map(([, name, why]) => [name, why])).toEqual(
      closing.map(({ name, closes }) => [name, closes?.why]),
    )
  })

  test.each([
    ['unixsocketgroup', 'staff'],
    ['socket-mark-id', '7'],
    ['loadmodule', '/opt/ldap-auth.so'],
    ['tls-auth-clients-user', 'CN'],
    ['tls-auto-reload-interval', '3600'],
  ])('%s %s keeps the server from starting, with one line and a remedy', (name, value) => {
    const { closes } = findDirective(name) as (typeof DIRECTIVES)[number]
    const { message } = failureOf(() => configOfFile(`port 1\n${name} ${value}\n`))
    expect(message).toBe(`respcast.conf:2: ${name} ${value}: ${closes?.why}. ${closes?.remedy}`)
  })

  test.each([
    ['unixsocketgroup', '""'],
    ['socket-mark-id', '0'],
    ['loadmodule', './modules/redisbloom/redisbloom.so'],
    ['tls-auth-clients-user', 'off'],
    ['tls-auto-reload-interval', '0'],
  ])('%s %s closes nothing', (name, value) => {
    expect(configOfFile(`${name} ${value}\n`).withoutEffect).toEqual([name])
  })

  test('is refused by CONFIG SET too', () => {
    expect(configOf().set([['tls-auth-clients-user', 'URI']])).toBe(
      "CONFIG SET failed (possibly related to argument 'tls-auth-clients-user') - a certificate would log nobody in, " +
        'and its client would have the rights of the default user',
    )
  })
})
