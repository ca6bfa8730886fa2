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
]

const TOTAL = KINDS.reduce((sum, { weight }) => sum + weight, 0)

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

/** The users that every session starts with. */
export const FIRST_USERS: readonly (readonly string[])[] = [
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
