import { SeededRandom } from '../support/oracle-random.ts'

/** One write of a connection or of the administrator. */
export interface FuzzStep {
  /** `A`, `B` or `C`; `admin` is the control connection and changes users. */
  readonly peer: string
  readonly commands: readonly (readonly string[])[]
}

const NAMES = [
  'a',
  'b',
  'ab',
  'news',
  'news.sport',
  '',
  '\x00',
  'a\x00b',
  'a b',
  '\r\n',
  '\xff\xfe',
  '\xc3\xa9',
  '[x]',
  '*',
  'A',
  'x'.repeat(200),
]
const PATTERNS = [
  '*',
  'a*',
  '?',
  '[a-b]',
  '[^a]*',
  '\\*',
  '',
  'a\\',
  '[\xff]*',
  'news*',
  '*\x00*',
  'n?ws',
  '*[',
  '[b-a]',
]
const PAYLOADS = ['', 'x', 'hello world', '\r\n', '\x00', '+OK\r\n', '\xff', 'y'.repeat(16_384)]
const USERS = ['bob', 'eve']
const RULES = [
  ['resetchannels', '&a', '&a*'],
  ['resetchannels', '&news*', '&b'],
  ['allchannels'],
  ['resetchannels'],
  ['+@all'],
  ['-publish', '-echo'],
  ['off'],
  ['on'],
  ['resetchannels', '(&* +@all)'],
  ['clearselectors'],
  ['resetchannels', `(&"a" &'b' +@all)`],
  ['(&"n\\x65ws*"', '+publish)'],
  ['(&a))'],
  ['(&a "")'],
  ['( )', '()'],
]

/** Integers at the ends of what 32 and 64 bits hold, and words that are none. */
const INTEGERS = [
  '0',
  '-1',
  '-0',
  '01',
  '+1',
  '2147483647',
  '2147483648',
  '-2147483648',
  '-2147483649',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '1.5',
  'x',
]

/** No connection of a session has this id. */
const NO_ID = '9007199254740993'

/** Filters of CLIENT KILL that spare the administrator. */
const KILL_FILTERS = [
  ['ID', NO_ID],
  ['USER', 'bob'],
  ['USER', 'eve'],
  ['USER', 'nobody'],
  ['TYPE', 'pubsub'],
  ['TYPE', 'master'],
  ['TYPE', 'nothing'],
  ['MAXAGE', '100000'],
  ['ADDR', '1.2.3.4:5'],
  ['LADDR', '1.2.3.4:5'],
  ['USER', 'bob', 'SKIPME', 'yes'],
  ['USER', 'bob', 'USER', 'eve'],
  ['USER', 'eve', 'user', 'bob'],
  ['TYPE', 'pubsub', 'TYPE', 'master'],
  ['TYPE', 'master', 'type', 'pubsub'],
  ['SKIPME', 'maybe'],
  ['ID'],
  ['NOTHING', 'x'],
]

/** Values of CONFIG SET, by directive. What differs on purpose is in `rules-tables.ts`. */
const CONFIG_VALUES: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['hz', ['10', '0', '501', '-1', '010', 'x']],
  [
    'latency-tracking-info-percentiles',
    ['50 99', '50.0 1e1', '99.90  1', '', 'x', '101', '0x10 -0', '50 50'],
  ],
  [
    'client-output-buffer-limit',
    ['', 'normal 0 0 0', 'normal  0 0 0', 'pubsub 32mb 8mb 060', 'slave 1g 1m 1', 'x 1 1 1', ' '],
  ],
  ['proc-title-template', ['{title} {port}', '{{', '{x}', '', '}', '{unixsocket}', '{']],
  ['acllog-max-len', ['0', '1', '128', '-1']],
  ['save', ['', '1  1', '1 1', '900 1 300', 'x']],
  ['notify-keyspace-events', ['KEA', '', 'KEA ', '$Kg', 'q']],
  ['NOTHING', ['x']],
]

/** Commands of one kind, and how often they come in a hundred. */
interface Kind {
  readonly weight: number
  readonly make: (random: SeededRandom) => readonly string[]
}

const KINDS: readonly Kind[] = [
  { weight: 12, make: (random) => ['SUBSCRIBE', ...some(random, NAMES)] },
  { weight: 9, make: (random) => ['PSUBSCRIBE', ...some(random, PATTERNS)] },
  { weight: 6, make: (random) => ['SSUBSCRIBE', ...some(random, NAMES)] },
  { weight: 5, make: (random) => ['UNSUBSCRIBE', ...someOrNone(random, NAMES)] },
  { weight: 5, make: (random) => ['PUNSUBSCRIBE', ...someOrNone(random, PATTERNS)] },
  { weight: 4, make: (random) => ['SUNSUBSCRIBE', ...someOrNone(random, NAMES)] },
  { weight: 18, make: (random) => ['PUBLISH', random.pick(NAMES), random.pick(PAYLOADS)] },
  { weight: 6, make: (random) => ['SPUBLISH', random.pick(NAMES), random.pick(PAYLOADS)] },
  { weight: 5, make: (random) => random.pick([['PING'], ['PING', ''], ['ping', 'a\x00b']]) },
  { weight: 2, make: (random) => ['ECHO', random.pick(PAYLOADS)] },
  { weight: 3, make: (random) => ['PUBSUB', 'CHANNELS', random.pick(PATTERNS)] },
  { weight: 3, make: (random) => ['PUBSUB', 'NUMSUB', ...someOrNone(random, NAMES)] },
  { weight: 2, make: (random) => ['PUBSUB', 'SHARDNUMSUB', ...someOrNone(random, NAMES)] },
  { weight: 2, make: (random) => ['PUBSUB', random.pick(['NUMPAT', 'SHARDCHANNELS', 'nothing'])] },
  { weight: 4, make: () => ['MULTI'] },
  { weight: 4, make: () => ['EXEC'] },
  { weight: 1, make: () => ['DISCARD'] },
  { weight: 1, make: (random) => random.pick([['WATCH', 'k'], ['UNWATCH']]) },
  { weight: 5, make: (random) => ['HELLO', random.pick(['3', '3', '2'])] },
  { weight: 1, make: (random) => random.pick([['HELLO'], ['HELLO', '4'], ['HELLO', '3', 'x']]) },
  { weight: 2, make: () => ['RESET'] },
  { weight: 3, make: (random) => ['CLIENT', 'REPLY', random.pick(['ON', 'ON', 'OFF', 'SKIP'])] },
  { weight: 2, make: (random) => ['CLIENT', random.pick(['GETNAME', 'SETNAME', 'NOTHING']), 'n'] },
  { weight: 1, make: () => ['CLIENT', 'GETNAME'] },
  { weight: 2, make: () => ['ACL', 'WHOAMI'] },
  { weight: 2, make: (random) => ['SELECT', random.pick(['0', '7', '16', 'x'])] },
  { weight: 4, make: (random) => ['AUTH', random.pick(USERS), random.pick(['pw', 'pw', 'bad'])] },
  { weight: 1, make: () => ['AUTH', 'default', 'any'] },
  { weight: 1, make: (random) => ['HELLO', '3', 'AUTH', random.pick(USERS), 'pw', 'SETNAME', 'z'] },
  {
    weight: 2,
    make: (random) =>
      random.pick([
        ['FOO', 'a\r\nb'],
        ['PUBLISH', 'a'],
        ['', 'x'],
      ]),
  },
  { weight: 1, make: () => ['QUIT'] },
  { weight: 4, make: (random) => withInteger(random, random.pick(INTEGERS)) },
  {
    weight: 2,
    make: (random) => [
      'CLIENT',
      'KILL',
      ...random.several(1, 3, () => random.pick(KILL_FILTERS)).flat(),
    ],
  },
  { weight: 3, make: () => ['CLIENT', 'INFO'] },
  { weight: 2, make: (random) => ['CLIENT', 'TRACKING', random.pick(['ON', 'ON', 'OFF'])] },
  {
    weight: 2,
    make: (random) => [
      random.pick(['FLUSHALL', 'FLUSHDB']),
      ...random.pick([[], [], ['SYNC'], ['async'], ['x'], ['SYNC', 'SYNC']]),
    ],
  },
  { weight: 1, make: (random) => ['DEBUG', ...random.pick([[], ['x']])] },
  { weight: 1, make: (random) => ['MODULE', ...random.pick([[], ['LOAD', 'x'], ['LIST']])] },
  {
    weight: 1,
    make: (random) => [
      'FAILOVER',
      ...random.pick([['x'], ['ABORT'], ['TIMEOUT', random.pick(INTEGERS)], ['FORCE', 'FORCE']]),
    ],
  },
  {
    weight: 1,
    make: (random) => [
      'COMMAND',
      'INFO',
      random.pick(['client|nothing', 'client|id|x', 'nothing', '|', 'publish|x']),
    ],
  },
]

const TOTAL = KINDS.reduce((sum, { weight }) => sum + weight, 0)

/** A command that takes an integer, in a form that neither waits nor shows what only one server has. */
function withInteger(random: SeededRandom, integer: string): string[] {
  return random.pick([
    ['SELECT', integer],
    ['WAIT', '0', integer],
    ['WAIT', random.pick(['-1', 'x', '9223372036854775808']), integer],
    ['WAITAOF', '0', integer.length > 1 ? 'x' : '0', integer],
    ['CLIENT', 'UNBLOCK', integer.length > 4 ? integer : NO_ID],
    ['CLIENT', 'KILL', 'ID', integer.length > 4 ? integer : 'x'],
    ['CLIENT', 'KILL', 'MAXAGE', integer.length > 4 ? integer : 'x', 'ID', NO_ID],
    ['CLIENT', 'LIST', 'ID', integer.length > 4 ? integer : 'x'],
    ['CLIENT', 'PAUSE', random.pick(['-1', 'x', '9223372036854775807', '9223372036854775808'])],
    ['CLIENT', 'TRACKING', 'ON', 'REDIRECT', integer.length > 4 ? integer : 'x'],
    ['MEMORY', 'USAGE', 'k', 'SAMPLES', integer],
    ['ACL', 'GENPASS', integer],
    ['SLOWLOG', 'GET', integer],
    ['HELLO', integer],
  ])
}

function some(random: SeededRandom, values: readonly string[]): string[] {
  return random.several(1, 3, () => random.pick(values))
}

function someOrNone(random: SeededRandom, values: readonly string[]): string[] {
  return random.chance(40) ? [] : some(random, values)
}

function anyCommand(random: SeededRandom): readonly string[] {
  let left = random.below(TOTAL)
  for (const { weight, make } of KINDS) {
    if (left < weight) return make(random)
    left -= weight
  }
  return ['PING']
}

/** User and password of a WebSocket, which is never the default user. */
export const BROWSER: readonly [string, string] = ['browser', 'pw']

/** The settings and users that every session starts with. */
export const FIRST_STATE: readonly (readonly string[])[] = [
  ['CONFIG', 'SET', 'hz', '10', 'acllog-max-len', '128', 'slowlog-log-slower-than', '-1'],
  ['CONFIG', 'SET', 'latency-tracking-info-percentiles', '50 99 99.9', 'save', ''],
  ['CONFIG', 'SET', 'notify-keyspace-events', '', 'proc-title-template', '{title} {port}'],
  [
    'CONFIG',
    'SET',
    'client-output-buffer-limit',
    'normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60',
  ],
  ['SLOWLOG', 'RESET'],
  ['ACL', 'SETUSER', 'bob', 'reset', 'on', '>pw', 'resetchannels', '&a', '&a*', '+@all'],
  ['ACL', 'SETUSER', BROWSER[0], 'reset', 'on', `>${BROWSER[1]}`, '~*', '&*', '+@all'],
  [
    'ACL',
    'SETUSER',
    'eve',
    'reset',
    'on',
    '>pw',
    '&*',
    '+@pubsub',
    '+@connection',
    '+@transaction',
  ],
]

/** The session of a seed: the same on every machine. */
export function generateSession(seed: number, length: number): FuzzStep[] {
  const random = new SeededRandom(seed)
  return Array.from({ length }, (): FuzzStep => {
    if (random.chance(4)) {
      const [name, values] = random.pick(CONFIG_VALUES)
      const words = random.chance(70)
        ? ['CONFIG', 'SET', random.chance(20) ? name.toUpperCase() : name, random.pick(values)]
        : ['CONFIG', 'GET', name]
      return { peer: 'admin', commands: [words] }
    }
    if (random.chance(2)) {
      const words = random.pick([
        ['ACL', 'LOG'],
        ['ACL', 'GETUSER', random.pick(USERS)],
      ])
      return { peer: 'admin', commands: [words] }
    }
    if (random.chance(4)) {
      const rules = random.pick(RULES)
      return { peer: 'admin', commands: [['ACL', 'SETUSER', random.pick(USERS), ...rules]] }
    }
    const peer = random.pick(['A', 'A', 'B', 'C'])
    const commands = random.chance(25)
      ? random.several(2, 5, () => anyCommand(random))
      : [anyCommand(random)]
    return { peer, commands }
  })
}
