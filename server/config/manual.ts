import { SECTIONS } from './directives.ts'
import { INT_MAX, LONG_MAX, UINT_MAX, ULONG_MAX } from './spec.ts'
import type { Bound, Spec } from './spec.ts'

const INTRODUCTION = `# Directives

Every directive may stand in the configuration file (\`name value\`, redis.conf syntax), in the environment
(\`RESPCAST_CONF_NAME\`, upper case, \`-\` as \`_\`), and on the command line (\`--name value\`); what comes later in this list
wins. \`CONFIG GET\` shows the value in force, \`CONFIG SET\` changes what is marked *live*, \`CONFIG REWRITE\` writes it back.

- *live*: \`CONFIG SET\` changes it at once. *start*: read once, at start. *kept*: \`CONFIG SET\` stores it. *fixed*: it does not.
- Memory: bytes, or a number with \`k\`, \`m\`, \`g\` (powers of 1000) or \`kb\`, \`mb\`, \`gb\` (powers of 1024).
- Words of a list are separated by spaces. \`""\` is an empty value. A comment needs a line of its own.
- A *secret* is write-only: \`CONFIG GET\` answers \`(redacted)\`, \`CONFIG REWRITE\` leaves it where it stands, and the command
  line and \`CONFIG SET\` take its \`-file\` only.
`

const WITHOUT_EFFECT = `
The directives below belong to parts of Redis 8.0 and Valkey 9.1 that this server does not have. They are accepted, checked,
kept, and shown by \`CONFIG GET\`, so that a stock configuration file starts; the log names once those that are set.

Some of them restrict who may come in. To ignore these would leave something open that their owner believes closed, so a value
marked *refused* keeps the server from starting, and \`CONFIG SET\` from setting it. All others restrict nothing here: they are
about keys, files and links between servers that do not exist, or about speed.
`

const BOUND_NAMES: ReadonlyMap<Bound, string> = new Map<Bound, string>([
  [INT_MAX, '2^31-1'],
  [UINT_MAX, '2^32-1'],
  [LONG_MAX, '2^63-1'],
  [ULONG_MAX, '2^64-1'],
])

/** The page docs/directives.md: every directive of the table but the hidden ones. */
export function directivesManual(): string {
  let hasSaidInert = false
  const parts = SECTIONS.map(({ title, table }) => {
    const entries = Object.entries<Spec>(table).filter(([, spec]) => !spec.hidden)
    const isInert = entries.every(([, spec]) => spec.effect === 'none')
    const before = isInert && !hasSaidInert ? WITHOUT_EFFECT : ''
    hasSaidInert ||= isInert
    return `${before}\n## ${title}\n\n${tableOf(entries)}`
  })
  return INTRODUCTION + parts.join('')
}

function tableOf(entries: readonly [string, Spec][]): string {
  const rows = entries.map(([name, spec]) => {
    const names = [name, ...(spec.aliases ?? [])].map((each) => `\`${each}\``).join(', ')
    const fallback =
      spec.default === '' ? (spec.type === 'lines' ? '' : '`""`') : `\`${spec.default}\``
    const beyond =
      spec.beyondLoopback === undefined ? '' : `; beyond loopback \`${spec.beyondLoopback}\``
    return `| ${names} | ${typeOf(spec)} | ${fallback}${beyond} | ${changeOf(spec)} | ${meaningOf(spec).replaceAll('|', '\\|')} |\n`
  })
  return `| directive | value | default | change | meaning |\n|---|---|---|---|---|\n${rows.join('')}`
}

function meaningOf({ text, closes }: Spec): string {
  if (!closes) return text
  const [harmless = ''] = closes.harmless
  const others =
    closes.harmless.length > 1
      ? 'but for modules of data types'
      : `unless ${harmless === '' ? 'empty' : `\`${harmless}\``}`
  return `${text} *Refused* ${others}: ${closes.why}. ${closes.remedy}`
}

function typeOf(spec: Spec): string {
  const unit = spec.unit === undefined ? '' : ` ${spec.unit}`
  switch (spec.type) {
    case 'boolean':
      return 'yes, no'
    case 'integer':
      return `${rangeOf(spec)}${unit}`
    case 'seconds':
      return `seconds, ${rangeOf(spec)}`
    case 'octal':
      return 'octal'
    case 'memory':
      return `memory, ${rangeOf(spec)}`
    case 'memory-or-percent':
      return 'memory or percent'
    case 'enumeration':
      return spec.values?.join(', ') ?? ''
    case 'flags':
      return `some of ${spec.values?.join(', ')}`
    case 'string':
      return spec.secret ? 'secret' : 'text'
    case 'list':
      return 'list'
    case 'buffer-limits':
      return 'class and limits, repeatable'
    case 'lines':
      return 'one per line'
  }
}

function rangeOf({ range }: Spec): string {
  const [low, high] = range as readonly [Bound, Bound]
  return `${low} to ${BOUND_NAMES.get(high) ?? high}`
}

function changeOf(spec: Spec): string {
  if (spec.effect === 'start') return 'start'
  return spec.mutable ? (spec.effect === 'none' ? 'kept' : 'live') : 'fixed'
}
