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
  if (!words.every((word) => /^-?\d+(\.\d+)?$/.test(word))) {
    return 'Invalid latency-tracking-info-percentiles parameters'
  }
  const valid = words.every((word) => Number(word) >= 0 && Number(word) <= 100)
  return valid
    ? undefined
    : 'latency-tracking-info-percentiles parameters should sit between [0.0,100.0]'
}

/** Writes percentiles without needless zeros: `1.50` is `1.5`. */
export function trimDecimals(text: string): string {
  return text.replace(/\d+\.\d+/g, (number) => String(Number(number)))
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

const TITLE_VARIABLES = [
  'title',
  'listen-addr',
  'server-mode',
  'port',
  'tls-port',
  'unixsocket',
  'config-file',
]

/** `proc-title-template`: known variables in braces. */
export const checkTitle: Check = ([template = '']) => {
  const rest = template.replace(/\{([^{}]*)\}/g, (whole, name: string) =>
    TITLE_VARIABLES.includes(name) ? '' : whole,
  )
  return /[{}]/.test(rest) ? 'template format is invalid or contains unknown variables' : undefined
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

function isCount(word: string): boolean {
  return /^\d{1,10}$/.test(word) && Number(word) <= 2_147_483_647
}
