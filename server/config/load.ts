import { resolve } from 'node:path'
import { leavesLoopback } from '../addresses.ts'
import { findDirective, isForeignName, nearestName } from './directives.ts'
import type { Directive } from './directives.ts'
import { servesTheWorld } from './listeners.ts'
import type { Spec } from './spec.ts'
import { ACL } from './tables/access.ts'
import { holdsSecret, TOKENS } from './tables/tokens.ts'
import { ConfigError, readConfigFile } from './parse.ts'
import type { SourceKind, Statement } from './parse.ts'
import { defaultSetting, defaultSettings, Settings, settingOf, valueOf } from './settings.ts'
import type { Setting, SettingMap } from './settings.ts'
import { parseValue, takesWords } from './values.ts'
import { quoteWord, splitWords } from '../../shared/words.ts'

/** Prefix of the environment variables that count; clusters inject others that begin with `RESPCAST_`. */
const ENVIRONMENT_PREFIX = 'RESPCAST_CONF_'

/** Sources of a configuration. */
export interface LoadInput {
  /** `[file] [--name value [value...]]...`, without the program's name and without switches such as `--check`. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder that relative paths start in. */
  readonly cwd: string
}

/** A configuration, read and checked value by value. */
export interface LoadedConfig {
  readonly settings: SettingMap
  readonly cwd: string
  /** Absolute path of the configuration file; undefined without one and for standard input. */
  readonly file: string | undefined
  /**
   * A configuration file was named, or a directive was set that says who may come in, from where, or where that is kept. Otherwise the
   * development profile is used, with what was set.
   */
  readonly isConfigured: boolean
  /** Names that were set and have no effect on this server, as written, each once. */
  readonly withoutEffect: readonly string[]
}

/**
 * Reads the configuration: defaults, the file, the environment, the command line; later sources win.
 *
 * Additive directives: `user`, `issuer`, `rename-command` lines add up over all sources; the classes of
 * `client-output-buffer-limit` are replaced one by one; `save` lines add up within one source.
 *
 * @throws {ConfigError} With one line for people, at the first error.
 */
export function loadConfig(input: LoadInput): LoadedConfig {
  const { file, statements: ofCommandLine } = splitArguments(input.argv)
  const statements = [
    ...(file === undefined ? [] : readConfigFile(file, input.cwd)),
    ...readEnvironment(input.env),
    ...ofCommandLine,
  ]
  const settings = defaultSettings()
  const withoutEffect = new Map<string, string>()
  for (const statement of statements) {
    const directive = findDirective(statement.name)
    if (directive) applyStatement(settings, directive, statement)
    else if (!isForeignName(statement.name)) throw unknownName(statement)
    if (!directive || directive.effect === 'none') {
      withoutEffect.set(directive?.name ?? statement.name.toLowerCase(), statement.name)
    }
  }
  const before = new Settings(settings, input.cwd)
  const isConfigured =
    file !== undefined ||
    statements.some(({ name }) => saysWhoMayEnter(name)) ||
    LISTENER_ADDRESSES.some((name) => leavesLoopback(before.list(name)))
  if (servesTheWorld(before)) tightenDefaults(settings)
  return {
    settings,
    cwd: input.cwd,
    file: file === undefined || file === '-' ? undefined : resolve(input.cwd, file),
    isConfigured,
    withoutEffect: [...withoutEffect.values()],
  }
}

/** Directives that say from where one may come in. */
const LISTENER_ADDRESSES = ['bind', 'http-bind', 'admin-bind'] as const

/** Reports whether a directive is about issuers, users, or the folder where they are kept. */
function saysWhoMayEnter(written: string): boolean {
  const name = findDirective(written)?.name
  return name !== undefined && (name in TOKENS || name in ACL || name === 'dir')
}

function tightenDefaults(settings: Map<string, Setting>): void {
  for (const [name, { directive, source }] of settings) {
    if (source.kind === 'default') settings.set(name, defaultSetting(directive, true))
  }
}

function applyStatement(
  settings: Map<string, Setting>,
  directive: Directive,
  statement: Statement,
): void {
  const isSecret = directive.secret ?? (directive.name === 'issuer' && holdsSecret(statement.words))
  if (isSecret && statement.kind === 'command-line') {
    const reason = 'a secret on the command line can be read by every user of the machine'
    const file = directive.secret
      ? `--${directive.name}-file <path>`
      : 'the property with -file and a path'
    throw new ConfigError(
      statement.where,
      `--${statement.name} ...`,
      statement.name,
      reason,
      `Use ${file}.`,
    )
  }
  const current = settingOf(settings, directive)
  const parsed = parseValue(directive, statement.words, addedTo(current, statement.kind))
  if ('reason' in parsed) throw valueError(statement, directive, parsed.reason)
  if (directive.name === 'user') refuseSecondUser(current, directive, statement)
  settings.set(directive.name, {
    directive,
    ...parsed,
    source: { kind: statement.kind, where: statement.where },
  })
}

/** The value that a further statement adds to; undefined if it replaces. */
function addedTo(current: Setting, kind: SourceKind): Setting['value'] | undefined {
  const { directive } = current
  if (!directive.multi) return undefined
  if (directive.type !== 'list') return current.value
  return current.source.kind === kind ? current.value : undefined
}

function refuseSecondUser(current: Setting, directive: Directive, statement: Statement): void {
  const [name] = statement.words
  if (valueOf(current, 'lines').some(([known]) => known === name)) {
    throw valueError(
      statement,
      directive,
      `Error in user declaration '${name}': Duplicate user found. A user can only be defined once in config files`,
    )
  }
}

function unknownName(statement: Statement): ConfigError {
  const nearest = nearestName(statement.name)
  // A misspelt `requirepass` must not put its password into the log, however it is misspelt.
  const shown = statement.words.length === 0 ? statement.text : `${statement.name} ...`
  const reason = `neither Redis, Valkey nor Respcast know a directive '${statement.name}'`
  const remedy = nearest === undefined ? 'See docs/directives.md.' : `Did you mean '${nearest}'?`
  return new ConfigError(statement.where, shown, statement.name, reason, remedy)
}

function readEnvironment(env: LoadInput['env']): Statement[] {
  const names = Object.keys(env).filter((name) => name.startsWith(ENVIRONMENT_PREFIX))
  return names.toSorted().flatMap((variable) => {
    const name = variable.slice(ENVIRONMENT_PREFIX.length).toLowerCase().replaceAll('_', '-')
    const directive = findDirective(name)
    const text = toBytes(env[variable] ?? '')
    const where = `environment ${variable}`
    // A single value may hold anything; quoting matters only for directives of several words.
    const values =
      directive && isOneWord(directive)
        ? [[text]]
        : splitLines(text, where, name).filter(
            ([first]) => directive?.type !== 'lines' || first !== '',
          )
    return values.map(
      (words) =>
        ({ name, words, text: [name, ...words].join(' '), kind: 'environment', where }) as const,
    )
  })
}

function splitLines(text: string, where: string, name: string): string[][] {
  return text.split('\n').map((line) => {
    const words = splitWords(line)
    if (words) return words.length === 0 ? [''] : words
    throw new ConfigError(
      where,
      '',
      name,
      'unbalanced quotes',
      'Close each quote; a space or the end must follow it.',
    )
  })
}

function isOneWord(directive: Directive): boolean {
  return !takesWords(directive) && directive.type !== 'lines'
}

function splitArguments(argv: readonly string[]): {
  file: string | undefined
  statements: Statement[]
} {
  const where = 'command line'
  const rest = [...argv]
  const file = rest[0] === undefined || rest[0].startsWith('--') ? undefined : rest.shift()
  const groups: string[][] = []
  for (const arg of rest) {
    if (arg.startsWith('--')) groups.push([arg.slice(2)])
    else if (groups.length > 0) (groups.at(-1) as string[]).push(arg)
    else
      throw new ConfigError(
        where,
        arg,
        '',
        'one configuration file at most',
        'Begin a directive with --.',
      )
  }
  const statements = groups.map(([name = '', ...values]): Statement => {
    if (name.includes('=')) {
      const [before = ''] = name.split('=', 1)
      throw new ConfigError(
        where,
        `--${before}=...`,
        before,
        'a directive takes no =',
        `Write --${before} <value>.`,
      )
    }
    const words = values.map(toBytes)
    return {
      name,
      words,
      text: [`--${name}`, ...words.map(quoteWord)].join(' '),
      kind: 'command-line',
      where,
    }
  })
  return { file, statements }
}

function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** The error of a statement whose value is refused. Text that may hold a secret is not repeated. */
function valueError(statement: Statement, spec: Spec, reason: string): ConfigError {
  const shown = spec.sensitive ? `${statement.name} ...` : statement.text
  const text = reason.endsWith('.') ? reason.slice(0, -1) : reason
  const remedy = remedyFor(spec, statement, reason)
  return new ConfigError(statement.where, shown, statement.name, text, remedy)
}

function remedyFor(spec: Spec, statement: Statement, reason: string): string {
  if (statement.words.some((word) => word.startsWith('#')) && !spec.sensitive) {
    return 'A comment needs a line of its own.'
  }
  if (reason === spec.closes?.why) return spec.closes.remedy
  switch (spec.type) {
    case 'boolean':
      return 'Write yes or no.'
    case 'integer':
    case 'seconds':
      return `Give a whole number from ${spec.range?.[0]} to ${spec.range?.[1]}.`
    case 'octal':
      return 'Give permissions such as 700.'
    case 'memory':
      return 'Give bytes, or a number with kb, mb or gb.'
    case 'memory-or-percent':
      return 'Give bytes, a number with kb, mb or gb, or a percentage such as 5%.'
    case 'enumeration':
    case 'flags':
      return `Write ${spec.type === 'flags' ? 'one or more' : 'one'} of ${spec.values?.join(', ')}.`
    case 'buffer-limits':
      return 'Give a class (normal, replica, pubsub, websocket), a hard limit, a soft limit and seconds.'
    case 'list':
      return 'Separate the words by spaces.'
    case 'string':
      return statement.words.length > 1
        ? 'Put a value that holds spaces in quotes.'
        : 'Give one value; "" is empty.'
    case 'lines':
      return 'See docs/directives.md.'
  }
}
