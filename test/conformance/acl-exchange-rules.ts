import type { SeededRandom } from '../support/oracle-random.ts'

/** Commands and categories that both servers know, for random rules. */
export interface RuleWords {
  /** `get`, `client`, `client|list` */
  readonly commands: readonly string[]
  /** Without the `@`. */
  readonly categories: readonly string[]
}

/** No quotes, which selectors hold around a rule only: see the rule `selector-quotes`. */
const PATTERN_PIECES = ['a', 'b', ':', '*', '?', '[a-c]', '[^x]', '\\*', 'room', '\xe9', '|', '#']
const PASSWORDS = ['one', 'two', 'p#ss', '', '\xff\x01']
const FLAGS = ['on', 'off', 'nopass', 'resetpass', 'sanitize-payload', 'ON', 'NoPass']
const HASH = 'b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184'

/** Rules that are refused wherever they stand, so that SETUSER changes nothing. */
const BAD = [
  '+nocommand',
  '+@nocategory',
  '%x~a',
  '~a b',
  '#12',
  '-client|nosub',
  'nonsense',
  '<no',
]

function pattern(random: SeededRandom): string {
  return random.several(0, 4, () => random.pick(PATTERN_PIECES)).join('')
}

function keysOrChannels(random: SeededRandom): string {
  const kind = random.pick(['~', '%R~', '%W~', '%RW~', '&', '&', '&'])
  if (random.chance(12)) return random.pick(['allkeys', 'resetkeys', 'allchannels', '&*', '~*'])
  if (random.chance(10)) return 'resetchannels'
  const made = pattern(random)
  // See the rule `whole-key-pattern`.
  return kind + (made === '*' ? 'a' : made)
}

function commands(random: SeededRandom, words: RuleWords): string {
  const sign = random.pick(['+', '+', '-'])
  if (random.chance(30)) return `${sign}@${random.pick(words.categories)}`
  if (random.chance(8)) return random.pick(['+@all', '-@all', 'allcommands', 'nocommands'])
  const name = random.pick(words.commands)
  if (random.chance(5) && !name.includes('|')) return `+${name}|first`
  return sign + (random.chance(10) ? name.toUpperCase() : name)
}

function selectorRule(random: SeededRandom, words: RuleWords): string {
  return random.chance(50) ? keysOrChannels(random) : commands(random, words)
}

function rule(random: SeededRandom, words: RuleWords): string {
  const dice = random.below(100)
  if (dice < 12) return random.pick(FLAGS)
  if (dice < 18) return `>${random.pick(PASSWORDS)}`
  if (dice < 20) return random.pick([`#${HASH}`, `<${random.pick(PASSWORDS)}`])
  if (dice < 22) return random.pick(['reset', 'clearselectors'])
  if (dice < 34) {
    const inner = random.several(0, 4, () => {
      const plain = selectorRule(random, words)
      return random.chance(15) ? `'${plain}'` : plain
    })
    return `(${inner.join(' ')})`
  }
  if (dice < 36) return random.pick(BAD)
  return selectorRule(random, words)
}

/** One set of rules for ACL SETUSER, as byte strings; some hold a rule that is refused. */
export function randomRules(random: SeededRandom, words: RuleWords): string[] {
  return random.several(1, 9, () => rule(random, words))
}
