import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findDirective } from '../../../server/config/directives.ts'
import { parseConfig } from '../../../server/config/parse.ts'
import { configOf, configOfFile, failureOf } from './support.ts'
import { folderWith } from '../../support/folder.ts'

describe('sources', () => {
  test('later ones win: defaults, file, environment, command line', () => {
    const config = configOfFile('timeout 1\nmaxclients 1\nport 1\n', ['--port', '3'], {
      RESPCAST_CONF_PORT: '2',
      RESPCAST_CONF_MAXCLIENTS: '2',
    })
    expect(config.get(['databases', 'timeout', 'maxclients', 'port'])).toEqual([
      ['databases', '16'],
      ['timeout', '1'],
      ['maxclients', '2'],
      ['port', '3'],
    ])
    expect([
      config.source('databases'),
      config.source('timeout'),
      config.source('maxclients'),
      config.source('port'),
    ]).toEqual([
      { kind: 'default', where: 'default' },
      { kind: 'file', where: 'respcast.conf:1' },
      { kind: 'environment', where: 'environment RESPCAST_CONF_MAXCLIENTS' },
      { kind: 'command-line', where: 'command line' },
    ])
  })

  test.each([
    [{}],
    [{ env: { RESPCAST_SERVICE_PORT: 'tcp://10.0.0.1:80' } }],
    [{ env: { RESPCAST_CONF_PORT: '1', RESPCAST_CONF_UPSTREAM: 'redis://a' } }],
    [{ argv: ['--Upstream', 'redis://a', '--upstream-user', 'u', '--port', '1'] }],
    [{ argv: ['--loglevel', 'debug', '--bind', '127.0.0.2', '--appendonly', 'yes'] }],
  ])('%j does not say who may come in: the development profile goes with it', (input) => {
    expect(configOf(input).isConfigured).toBe(false)
  })

  test.each([
    [{ env: { RESPCAST_CONF_JWT_ISSUER: 'i' } }],
    [{ argv: ['--user', 'a', 'on'] }],
    [{ argv: ['--aclfile', 'users.acl'] }],
    [{ argv: ['--dir', '/tmp'] }],
    [{ argv: ['--bind', '*'] }],
    [{ argv: ['--http-bind', '10.0.0.1'] }],
    [{ argv: ['--admin-bind', '::'] }],
  ])('%j says who may come in, from where, or where that is kept', (input) => {
    expect(configOf(input).isConfigured).toBe(true)
  })

  test('so does any file', () => {
    expect(configOfFile('').isConfigured).toBe(true)
  })

  test('the file is known by its absolute path', () => {
    const cwd = folderWith({ 'a.conf': '' })
    expect(configOf({ argv: ['a.conf'], cwd }).file).toBe(`${cwd}/a.conf`)
    expect(configOf().file).toBeUndefined()
  })

  test('names without effect are gathered once, those of modules too', () => {
    const config = configOfFile(
      'appendonly yes\nport 1\nslave-priority 5\nappendonly no\nsearch-timeout 5\n',
    )
    expect(config.withoutEffect).toEqual(['appendonly', 'slave-priority', 'search-timeout'])
    expect(config.get(['appendonly', 'replica-priority', 'search-timeout'])).toEqual([
      ['appendonly', 'no'],
      ['replica-priority', '5'],
    ])
  })
})

describe('the environment', () => {
  test('gives a text as it is, and splits lists', () => {
    const config = configOf({
      env: {
        RESPCAST_CONF_REQUIREPASS: 'a "b c',
        RESPCAST_CONF_BIND: '127.0.0.1 ::1',
        RESPCAST_CONF_LOGFILE: 'café',
      },
    })
    expect(config.text('requirepass')).toBe('a "b c')
    expect(config.list('bind')).toEqual(['127.0.0.1', '::1'])
    expect(config.text('logfile')).toBe('caf\xc3\xa9')
  })

  test('gives several lines of a repeated directive, one per line', () => {
    const config = configOf({
      env: { RESPCAST_CONF_USER: 'alice on >x\nbob off\n', RESPCAST_CONF_BIND: '' },
    })
    expect(config.lines('user')).toEqual([
      ['alice', 'on', '>x'],
      ['bob', 'off'],
    ])
    expect(config.list('bind')).toEqual([])
  })

  test('other RESPCAST variables are ignored, unknown directives are not', () => {
    expect(configOf({ env: { RESPCAST_PORT: 'tcp://1.2.3.4:5' } }).integer('port')).toBe(6380)
    expect(failureOf(() => configOf({ env: { RESPCAST_CONF_PROT: '5' } })).message).toBe(
      "environment RESPCAST_CONF_PROT: prot ...: neither Redis, Valkey nor Respcast know a directive 'prot'. Did you mean 'port'?",
    )
  })
})

describe('the command line', () => {
  test('begins a directive at each --', () => {
    const argv = [
      '--bind',
      '127.0.0.1',
      '-::1',
      '--save',
      '',
      '--client-output-buffer-limit',
      'normal',
      '1',
      '2',
      '3',
    ]
    const config = configOf({ argv })
    expect(config.list('bind')).toEqual(['127.0.0.1', '-::1'])
    expect(config.list('save')).toEqual([])
    expect(config.bufferLimits().normal).toMatchObject({
      hardBytes: 1,
      softBytes: 2,
      softSeconds: 3,
    })
    expect(config.bufferLimits().websocket).toMatchObject({
      hardBytes: 1_048_576,
      softBytes: 262_144,
      softSeconds: 10,
    })
  })

  test.each([
    [
      ['--port', '6380', '6381'],
      'command line: --port 6380 6381: wrong number of arguments. Give a whole number from 0 to 65535.',
    ],
    [['--port=6380'], 'command line: --port=...: a directive takes no =. Write --port <value>.'],
    [
      ['--jwt-secret', 'hunter2'],
      'command line: --jwt-secret ...: a secret on the command line can be read by every user of the machine. Use --jwt-secret-file <path>.',
    ],
    [
      ['--issuer', 'acme', 'secret', 'hunter2'],
      'command line: --issuer ...: a secret on the command line can be read by every user of the machine. Use the property with -file and a path.',
    ],
  ])('refuses %j', (argv, message) => {
    expect(failureOf(() => configOf({ argv })).message).toBe(message)
  })

  test('takes one file at most', () => {
    const cwd = folderWith({ 'a.conf': '' })
    expect(failureOf(() => configOf({ argv: ['a.conf', 'b.conf'], cwd })).message).toBe(
      'command line: b.conf: one configuration file at most. Begin a directive with --.',
    )
  })
})

describe('directives that may stand several times', () => {
  test('save lines add up in a file, replace the default, and are emptied by ""', () => {
    expect(configOfFile('save 60 1\nsave 70 2\n').list('save')).toEqual(['60', '1', '70', '2'])
    expect(configOfFile('save 60 1\nsave ""\n').list('save')).toEqual([])
    expect(configOfFile('save 60 1\n', ['--save', '70', '2']).list('save')).toEqual(['70', '2'])
  })

  test('output limits replace each other class by class', () => {
    const limit = 'client-output-buffer-limit'
    const config = configOfFile(
      `${limit} normal 1 1 1\n${limit} replica 2 2 2\n${limit} normal 3 3 3\n`,
    )
    expect(config.get([limit])).toEqual([
      [limit, 'normal 3 3 3 slave 2 2 2 pubsub 33554432 8388608 60 websocket 1048576 262144 10'],
    ])
  })

  test('users add up over all sources, each name once', () => {
    const config = configOfFile('user alice on\n', ['--user', 'bob', 'on'])
    expect(config.lines('user').map(([name]) => name)).toEqual(['alice', 'bob'])
    expect(failureOf(() => configOfFile('user alice on\nuser alice off\n')).message).toBe(
      "respcast.conf:2: user ...: Error in user declaration 'alice': Duplicate user found. A user can only be defined once in config files. See docs/directives.md.",
    )
  })

  test('lines of issuers add up', () => {
    expect(configOfFile('issuer acme roles a "b c"\nissuer b leeway 1\n').lines('issuer')).toEqual([
      ['acme', 'roles', 'a', 'b c'],
      ['b', 'leeway', '1'],
    ])
  })

  test('renamed commands keep their order', () => {
    expect(
      configOfFile('rename-command CONFIG ""\nrename-command DEBUG d\n').lines('rename-command'),
    ).toEqual([
      ['CONFIG', ''],
      ['DEBUG', 'd'],
    ])
  })
})

describe('values by type', () => {
  test('come in their own units', () => {
    const config = configOf({
      argv: [
        '--unixsocketperm',
        '700',
        '--maxmemory',
        '1000',
        '--maxmemory-clients',
        '5%',
        '--tls-auth-clients',
        'OPTIONAL',
      ],
    })
    expect(config.integer('unixsocketperm')).toBe(0o700)
    expect(config.memoryOrPercent('maxmemory-clients')).toBe(50)
    expect(config.choice('tls-auth-clients')).toBe('optional')
    expect(config.boolean('protected-mode')).toBe(true)
    // @ts-expect-error The compiler knows that a boolean is no integer.
    expect(config.integer('protected-mode')).toBe(true)
    expect(config.memory('ws-max-payload')).toBe(65_536)
    expect(
      configOf({ argv: ['--maxmemory-clients', '5%'] }).memoryOrPercent('maxmemory-clients'),
    ).toBe(0)
    expect(
      configOf({ argv: ['--maxmemory-clients', '1kb'] }).memoryOrPercent('maxmemory-clients'),
    ).toBe(1024)
  })

  test('paths are absolute: relative ones lie in dir', () => {
    const config = configOf({
      argv: ['--dir', 'data', '--aclfile', 'caf\u00e9.acl', '--logfile', '/var/log/x'],
      cwd: '/srv',
    })
    expect(config.path('dir')).toBe('/srv/data')
    expect(config.path('aclfile')).toBe('/srv/data/café.acl')
    expect(config.path('logfile')).toBe('/var/log/x')
    expect(config.path('pidfile')).toBe('')
  })
})

describe('the configuration of a Redis or Valkey starts here', () => {
  const kinds = `# General
bind 127.0.0.1 -::1
protected-mode yes
port 6379
tcp-backlog 511
timeout 0
tcp-keepalive 300
daemonize yes
supervised auto
pidfile "/run/redis/redis-server.pid"
loglevel notice
logfile ""
databases 16
always-show-logo no
proc-title-template "{title} {listen-addr} {server-mode}"
save 3600 1
save 300 100
stop-writes-on-bgsave-error yes
dbfilename dump.rdb
dir ./
replicaof 192.0.2.1 6379
slave-read-only yes
acllog-max-len 128
user alice on +@all -DEBUG ~* &* >secret
rename-command CONFIG ""
maxmemory 100mb
maxmemory-policy allkeys-lru
lazyfree-lazy-eviction no
oom-score-adj no
oom-score-adj-values 0 200 800
appendonly no
appendfsync everysec
auto-aof-rewrite-min-size 64mb
notify-keyspace-events ""
hash-max-ziplist-entries 512
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit slave 256mb 64mb 60
client-output-buffer-limit pubsub 32mb 8mb 60
hz 10
tls-protocols "TLSv1.2 TLSv1.3"
loadmodule /usr/lib/redis/modules/rejson.so ARG 1
shutdown-on-sigterm save now
`

  test('with every kind of line that a stock file has', () => {
    const config = configOfFile(kinds)
    expect(config.get(['port', 'maxmemory', 'tls-protocols', 'replicaof', 'save'])).toEqual([
      ['port', '6379'],
      ['maxmemory', '104857600'],
      ['tls-protocols', 'TLSv1.2 TLSv1.3'],
      ['replicaof', '192.0.2.1 6379'],
      ['save', '3600 1 300 100'],
    ])
    expect(config.withoutEffect).toContain('daemonize')
  })

  // Those of the distribution's packages, where they are installed and may be read.
  for (const path of ['/etc/redis/redis.conf', '/etc/valkey/valkey.conf'].filter(isReadable)) {
    test(`${path}, and every directive that it offers in a comment`, () => {
      const text = readFileSync(path, 'latin1')
      expect(configOf({ argv: [path] }).integer('port')).toBe(6379)
      const offered = parseConfig(text.replaceAll(/^# ?(?=[a-z]+(-[a-z0-9]+)+ \S+$)/gm, ''), path)
      expect(
        offered.filter(({ name }) => !findDirective(name)).map(({ text: line }) => line),
      ).toEqual([])
    })
  }
})

function isReadable(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch {
    return false
  }
}
