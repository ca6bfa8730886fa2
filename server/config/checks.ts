import { isNetwork } from '../addresses.ts'

/**
 * Rules of single directives, in Redis' words. Each takes the words after the directive and returns
 * the error, if any.
 */
type Check = (words: readonly string[]) => string | undefined

/** `trusted-proxies`: addresses and networks. */
export const checkNetworks: Check = (words) => {
  const wrong = words.find((word) => !isNetwork(word))
  return wrong === undefined
    ? undefined
    : `'${wrong}' is neither an IP address nor a network such as 10.0.0.0/8`
}

/** `http-publish-path`, `http-events-path`: a path below which nothing has a meaning of its own, or nothing. */
export const httpPathProblem: Check = ([path = '']) =>
  path === '' || /^(\/[\w.~-]+)+$/.test(path)
    ? undefined
    : 'argument must be empty, or a path such as /api/publish of letters, digits and -._~'

/** `save`: pairs of seconds (at least 1) and changes (at least 0), or nothing. */
export const checkSavePoints: Check = (words) => {
  const valid =
    words.length % 2 === 0 &&
    words.every((word, at) => isCount(word) && (at % 2 === 1 || Number(word) >= 1))
  return valid ? undefined : 'Invalid save parameters'
}

/** `oom-score-adj-values`: three numbers between -2000 and 2000. */
export const checkOomScores: Check = (words) => {
  if (words.length !== 3) return 'wrong number of arguments'
  const valid = words.every((word) => /^-?\d{1,4}$/.test(word) && Math.abs(Number(word)) <= 2000)
  return valid
    ? undefined
    : 'Invalid oom-score-adj-values, elements must be between -2000 and 2000.'
}

/** `latency-tracking-info-percentiles`: numbers between 0 and 100. */
export const checkPercentiles: Check = (words) => {
  for (const word of words) {
    const number = readDouble(word)
    if (number === undefined) return 'Invalid latency-tracking-info-percentiles parameters'
    if (number < 0 || number > 100) {
      return 'latency-tracking-info-percentiles parameters should sit between [0.0,100.0]'
    }
  }
  return undefined
}

/** Writes a percentile with six decimals at most and without needless zeros: `1.50` is `1.5`, `1e1` is `10`. */
export function percentileText(word: string): string {
  const number = readDouble(word)
  if (number === undefined) return word
  return `${Object.is(number, -0) ? '-' : ''}${number.toFixed(6).replace(/\.?0+$/, '')}`
}

/** Reads a number in the forms of `strtod` in C: decimal, with an exponent, hexadecimal, infinite. */
function readDouble(word: string): number | undefined {
  const [, sign, text = ''] = /^([+-]?)(.*)$/.exec(word) ?? []
  const isNumber = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) || /^0x[\da-f]{1,256}$/i.test(text)
  if (!isNumber && !/^inf(inity)?$/i.test(text)) return undefined
  const size = isNumber ? Number(text) : Infinity
  return sign === '-' ? -size : size
}

/** `shutdown-on-sigint` and `-sigterm`: save and nosave exclude each other. */
export const checkShutdown: Check = (words) => {
  const chosen = new Set(words.map((word) => word.toLowerCase()))
  return chosen.has('save') && chosen.has('nosave')
    ? "shutdown options SAVE and NOSAVE can't be used simultaneously"
    : undefined
}

/** `tls-protocols`: versions that Redis knows, and at least one that is not broken. */
export const checkTlsVersions: Check = (words) => {
  const wanted = words.map((word) => word.toLowerCase())
  if (wanted.length === 0) return undefined
  const valid =
    wanted.every((word) => /^tlsv1(\.[0-3])?$/.test(word)) &&
    wanted.some((word) => word === 'tlsv1.2' || word === 'tlsv1.3')
  return valid
    ? undefined
    : 'argument(s) must be TLSv1.2 or TLSv1.3; older versions may stand beside them and are not served'
}

/** Variables of `proc-title-template`, and whether one may be empty. */
const TITLE_VARIABLES: ReadonlyMap<string, boolean> = new Map([
  ['title', true],
  ['listen-addr', false],
  ['server-mode', true],
  ['port', false],
  ['tls-port', false],
  ['unixsocket', true],
  ['config-file', false],
])

/** `proc-title-template`: text that is not empty, with known variables in braces; `{{` is a brace. */
export const checkTitle: Check = ([template = '']) => {
  let isWrong = false
  const title = template.replace(/\{(\{|[^}]*\}?)/g, (_whole, name: string) => {
    if (name === '{') return name
    const mayBeEmpty = name.endsWith('}') ? TITLE_VARIABLES.get(name.slice(0, -1)) : undefined
    if (mayBeEmpty === undefined) isWrong = true
    return mayBeEmpty ? '' : 'x'
  })
  return isWrong || /^ *$/.test(title)
    ? 'template format is invalid or contains unknown variables'
    : undefined
}

const EVENT_CLASSES = ['g', '$', 'l', 's', 'h', 'z', 'x', 'e', 't', 'd']

/** `notify-keyspace-events`: letters for classes of events. */
export const checkEvents: Check = ([letters = '']) =>
  /^[Ag$lshzxeKEtmdn]*$/.test(letters)
    ? undefined
    : "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."

/** The letters of `notify-keyspace-events` in the order in which CONFIG GET answers them. */
export function sortEvents(letters: string): string {
  const given = new Set(letters)
  const all = given.has('A') || EVENT_CLASSES.every((letter) => given.has(letter))
  const classes = all ? 'A' : [...EVENT_CLASSES, 'n'].filter((letter) => given.has(letter)).join('')
  return classes + ['K', 'E', 'm'].filter((letter) => given.has(letter)).join('')
}

/** Reports whether a word is a whole number up to 2^31 - 1. */
export function isCount(word: string): boolean {
  return /^\d{1,10}$/.test(word) && Number(word) <= 2_147_483_647
}

/** `admin-hosts`: names or addresses, as they stand in a Host header without its port. */
export const hostProblem: Check = (words) => {
  const wrong = words.find((word) => !/^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/i.test(word))
  return wrong === undefined
    ? undefined
    : `argument '${wrong}' is no host; give a name or an address, without scheme, port and path`
}
