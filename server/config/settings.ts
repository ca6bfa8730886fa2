import { resolve } from 'node:path'
import { DIRECTIVES } from './directives.ts'
import type { ChoiceOf, Directive, DirectiveName, NameOf } from './directives.ts'
import type { SourceKind } from './parse.ts'
import type { DirectiveType } from './spec.ts'
import { parseValue } from './values.ts'
import type { BufferLimits, Lines, Value, ValueOf } from './values.ts'

/** Origin of a value. */
interface Source {
  readonly kind: SourceKind
  /** For people: `default`, `file:line`, `environment RESPCAST_CONF_PORT`, `command line`, `CONFIG SET`. */
  readonly where: string
}

/** One directive's value. Never changed once built. */
export interface Setting {
  readonly directive: Directive
  readonly value: Value
  /** The text by which CONFIG GET shows it; a byte string. */
  readonly text: string
  readonly source: Source
}

/** All settings by canonical name. */
export type SettingMap = ReadonlyMap<string, Setting>

const DEFAULT: Source = { kind: 'default', where: 'default' }
const BEYOND_LOOPBACK: Source = { kind: 'default', where: 'default beyond loopback' }

/** The default settings. */
export function defaultSettings(): Map<string, Setting> {
  return new Map(DEFAULTS)
}

/**
 * The default of one directive.
 *
 * @param isPublic Browsers beyond this machine can reach the public listener: some limits are tighter.
 */
export function defaultSetting(directive: Directive, isPublic = false): Setting {
  const { name, beyondLoopback } = directive
  if (!isPublic || beyondLoopback === undefined) return DEFAULTS.get(name) as Setting
  return readDefault({ ...directive, default: beyondLoopback }, BEYOND_LOOPBACK)
}

/** The setting of a directive in a set of them. */
export function settingOf(settings: SettingMap, directive: Directive): Setting {
  return settings.get(directive.name) ?? defaultSetting(directive)
}

/** The value of a setting whose directive is of a type. */
export function valueOf<T extends DirectiveType>(
  { directive, value }: Setting,
  type: T,
): ValueOf<T> {
  if (directive.type !== type) throw new Error(`${directive.name} is not of type ${type}`)
  return value as ValueOf<T>
}

const DEFAULTS: SettingMap = new Map(
  DIRECTIVES.map((directive) => [directive.name, readDefault(directive)]),
)

function readDefault(directive: Directive, source = DEFAULT): Setting {
  if (directive.type === 'lines') return { directive, value: [], text: '', source }
  const parsed = parseValue(directive, [directive.default])
  if ('reason' in parsed) throw new Error(`default of ${directive.name}: ${parsed.reason}`)
  return { directive, ...parsed, source }
}

/**
 * A consistent set of values with a getter per type. Names are checked against the table by the compiler.
 * Texts are byte strings, as given.
 *
 * Parts of the server are handed the settings and read a value each time they use it, so that CONFIG SET takes effect at
 * once. Paths that run for every message or argument use {@link cached}.
 */
export class Settings {
  protected settings: SettingMap
  /** Folder in which the server was started, which a relative `dir` starts from. */
  readonly cwd: string
  readonly #refresh: (() => void)[] = []

  constructor(settings: SettingMap, cwd: string) {
    this.settings = settings
    this.cwd = cwd
  }

  /**
   * Returns values for hot paths as one object, so that each use costs a property read. After a change the same object holds
   * the new values.
   */
  cached<T extends object>(read: (settings: Settings) => T): T {
    const values = read(this)
    this.#refresh.push(() => Object.assign(values, read(this)))
    return values
  }

  /** Puts other values in force. */
  protected replace(settings: SettingMap): void {
    this.settings = settings
    for (const refresh of this.#refresh) refresh()
  }

  boolean(name: NameOf<'boolean'>): boolean {
    return this.#value<'boolean'>(name)
  }

  /** A whole number in the directive's unit; an octal one as a number. */
  integer(name: NameOf<'integer' | 'octal'>): number {
    return this.#value<'integer' | 'octal'>(name)
  }

  seconds(name: NameOf<'seconds'>): number {
    return this.#value<'seconds'>(name)
  }

  /** Bytes. */
  memory(name: NameOf<'memory'>): number {
    return this.#value<'memory'>(name)
  }

  /** A count or a number of bytes that 0 switches off: Infinity then. */
  limit(name: NameOf<'integer' | 'memory'>): number {
    const value = this.#value<'integer' | 'memory'>(name)
    return value === 0 ? Number.POSITIVE_INFINITY : value
  }

  /** Bytes; a percentage is taken of `maxmemory`, so it is 0 (no limit) while that is 0. */
  memoryOrPercent(name: NameOf<'memory-or-percent'>): number {
    const value = this.#value<'memory-or-percent'>(name)
    return 'bytes' in value
      ? value.bytes
      : Math.floor((this.memory('maxmemory') * value.percent) / 100)
  }

  /** The word chosen, in the spelling of the table. */
  choice<N extends NameOf<'enumeration'>>(name: N): ChoiceOf<N> {
    return this.#setting(name).value as ChoiceOf<N>
  }

  text(name: NameOf<'string'>): string {
    return this.#value<'string'>(name)
  }

  /**
   * A path as the file system takes it: absolute, relative ones in `dir`; empty where the directive is empty.
   */
  path(name: NameOf<'string'>): string {
    return name === 'dir'
      ? resolve(this.cwd, toPath(this.text('dir')))
      : this.inDir(this.text(name))
  }

  /** The path that a byte string names: relative ones lie in `dir`; empty stays empty. */
  inDir(text: string): string {
    return text === '' ? '' : resolve(this.path('dir'), toPath(text))
  }

  list(name: NameOf<'list' | 'flags'>): readonly string[] {
    return this.#value<'list' | 'flags'>(name)
  }

  /** Output limits of every class. */
  bufferLimits(): BufferLimits {
    return this.#value<'buffer-limits'>('client-output-buffer-limit')
  }

  /** The words of each line of a directive that may stand several times: `user`, `issuer`, `rename-command`. */
  lines(name: NameOf<'lines'>): Lines {
    return this.#value<'lines'>(name)
  }

  /** The value of any directive; its form follows from the directive's type. */
  value(name: DirectiveName): Value {
    return this.#setting(name).value
  }

  /** The origin of the value. */
  source(name: DirectiveName): Source {
    return this.#setting(name).source
  }

  #value<T extends DirectiveType>(name: NameOf<T>): ValueOf<T> {
    return this.#setting(name).value as ValueOf<T>
  }

  #setting(name: string): Setting {
    return this.settings.get(name) as Setting
  }
}

function toPath(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8')
}
