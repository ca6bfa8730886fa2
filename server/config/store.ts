import type { User } from '../acl/user.ts'
import type { DirectiveName, NameOf } from './directives.ts'
import { servesTheWorld } from './listeners.ts'
import type { LoadedConfig } from './load.ts'
import { ConfigError, type SourceKind } from './parse.ts'
import { rewriteConfig, rewritingConfig } from './rewrite.ts'
import { defaultSetting, Settings, valueOf } from './settings.ts'
import { parseValue } from './values.ts'
import type { Setting, SettingMap } from './settings.ts'
import {
  listConfig,
  readPairs,
  setError,
  type Change,
  type Pair,
  type SetClient,
} from './access.ts'

/** Returns the reason why a configuration cannot be used as a whole; undefined if it can. */
type Validator = (candidate: Settings) => string | undefined

/**
 * Puts changed values into force. A text refuses them, and everything is rolled back: it is called again with the old
 * values if it or a later one refuses, and its answer is then ignored. It sets nothing itself.
 */
type Applier = (
  settings: Settings,
  changed: ReadonlySet<DirectiveName>,
) => string | undefined | void

/** Called after a change that is final; it cannot refuse any more. */
type Follower = (settings: Settings, changed: ReadonlySet<DirectiveName>) => void

/** Outcome of {@link Config.reload}. */
interface Reloaded {
  /** Directives that have another value now, or name a file that is to be read again. */
  readonly changed: readonly string[]
  /** Changed directives that are read at start only. */
  readonly atNextStart: readonly string[]
}

/** The highest value that the machine allows for a number. */
interface Bound {
  readonly name: NameOf<'integer'>
  readonly most: number
}

interface Watch<F> {
  readonly names: readonly DirectiveName[]
  readonly call: F
}

/**
 * The configuration in force: values by type, and CONFIG GET, SET and REWRITE.
 *
 * Getters always answer the value in force, so code that reads a value at each use needs no applier.
 */
export class Config extends Settings {
  /** Absolute path of the configuration file, which CONFIG REWRITE writes. */
  readonly file: string | undefined
  /** A configuration file was named, or a directive was set that is not about the upstream. */
  readonly isConfigured: boolean
  /** Names set at start that have no effect on this server; for one line in the log. */
  readonly withoutEffect: readonly string[]
  readonly #bounds: Bound[] = []
  readonly #validators: Watch<Validator>[] = []
  readonly #appliers: Watch<Applier>[] = []
  readonly #followers: Watch<Follower>[] = []

  constructor(loaded: LoadedConfig) {
    super(loaded.settings, loaded.cwd)
    this.file = loaded.file
    this.isConfigured = loaded.isConfigured
    this.withoutEffect = loaded.withoutEffect
  }

  /**
   * Registers a rule over several values. It runs at start ({@link check}) and at every CONFIG SET.
   *
   * @param names The directives the rule is about: the error names the one that was set.
   */
  addValidator(names: readonly DirectiveName[], call: Validator): void {
    this.#validators.push({ names, call })
  }

  /**
   * Bounds a number by what the machine allows: a higher value of a file is lowered, now and when it is read again, and CONFIG SET
   * refuses one.
   *
   * @returns True if the present value was lowered.
   */
  bound(name: NameOf<'integer'>, most: number, refusal: string): boolean {
    this.#bounds.push({ name, most })
    this.addValidator([name], (settings) => (settings.integer(name) > most ? refusal : undefined))
    if (this.integer(name) <= most) return false
    this.replace(this.#lowered(this.settings))
    return true
  }

  #lowered(settings: SettingMap): SettingMap {
    const lowered = new Map(settings)
    for (const { name, most } of this.#bounds) {
      const setting = settings.get(name)
      if (setting === undefined || valueOf(setting, 'integer') <= most) continue
      const parsed = parseValue(setting.directive, [String(most)])
      // Below the range of the directive, the machine allows nothing.
      if (!('reason' in parsed)) lowered.set(name, { ...setting, ...parsed })
    }
    return lowered
  }

  /** Registers a function that puts changes of `names` into force. Appliers are called in the order of registration. */
  onChange(names: readonly DirectiveName[], call: Applier): void {
    this.#appliers.push({ names, call })
  }

  /** Registers a function that is called after changes of `names`, when every applier has accepted them. */
  afterChange(names: readonly DirectiveName[], call: Follower): void {
    this.#followers.push({ names, call })
  }

  /** Reports whether a value that is not empty comes from such a source. */
  isWritten(name: string, kind: SourceKind): boolean {
    const setting = this.settings.get(name)
    return setting !== undefined && setting.source.kind === kind && setting.text !== ''
  }

  /**
   * Runs every validator over the values in force.
   *
   * @throws {ConfigError} The refusal of the first validator that refuses, with the place of the value.
   */
  check(): void {
    for (const { names, call } of this.#validators) {
      const reason = call(this)
      if (reason === undefined) continue
      const written = names.filter((name) => this.source(name).kind !== 'default')
      const [name = names[0] ?? ''] = written
      const where = written.map((each) => this.source(each).where).join(', ')
      throw new ConfigError(where, name, name, reason.replace(/\.$/, ''), 'See docs/directives.md.')
    }
  }

  /**
   * Answers CONFIG GET: names and values. Patterns are globs, in any case; a name without wildcards is answered as it
   * was typed. Secrets read `(redacted)`.
   *
   * @param patterns Byte strings.
   */
  get(patterns: readonly string[]): [name: string, value: string][] {
    return listConfig(this.settings, patterns)
  }

  /**
   * Carries out CONFIG SET: all pairs or none.
   *
   * @returns Undefined, or the error's text after `ERR `.
   */
  set(pairs: readonly Pair[], client: SetClient = { isLocal: false }): string | undefined {
    const changes = readPairs(this, this.settings, pairs, client)
    if (typeof changes === 'string') return changes
    const refusal = this.#put(changes)
    return refusal === undefined ? undefined : setError(...refusal)
  }

  /**
   * Replaces this configuration by one that was read again, as far as a running server can change: all of it or nothing.
   * Changes by CONFIG SET are lost.
   *
   * @returns The changes, or a sentence that names the directive that was refused and the reason.
   */
  reload(loaded: LoadedConfig): Reloaded | string {
    const changes: Change[] = []
    const atNextStart: string[] = []
    // The listeners are those of the start, whatever the file says now, and so are the defaults that go with them.
    const isPublic = servesTheWorld(this)
    for (const [name, read] of this.#lowered(loaded.settings)) {
      const { directive } = read
      const isTied = read.source.kind === 'default' && directive.beyondLoopback !== undefined
      const setting = isTied ? defaultSetting(directive, isPublic) : read
      const { text } = setting
      const differs = this.settings.get(name)?.text !== text
      if (directive.mutable && directive.protected !== true) {
        const namesFile = directive.volatile === true && text !== ''
        if (differs || namesFile) changes.push({ typed: name, setting })
      } else if (differs) atNextStart.push(name)
    }
    const refusal = this.#put(changes)
    if (refusal !== undefined) return `${refusal[0]}: ${refusal[1]}`
    return { changed: changes.map(({ typed }) => typed), atNextStart }
  }

  /**
   * Returns the text by which CONFIG REWRITE replaces `fileText`.
   *
   * @param users The rules of each user as ACL LIST has them after the word `user`; empty with an `aclfile`.
   */
  rewrite(fileText: string, users: readonly string[]): string {
    return rewriteConfig(fileText, this.settings, users)
  }

  /** As {@link rewrite}, in slices: yields after each, and is about the settings and users of its beginning. */
  rewriting(fileText: string, users: readonly User[]): Generator<void, string> {
    return rewritingConfig(fileText, this.settings, users)
  }

  /** @returns The directive at fault and the reason, if nothing was changed. */
  #put(changes: readonly Change[]): readonly [name: string, reason: string] | undefined {
    const candidate = new Map(this.settings)
    for (const { setting } of changes) candidate.set(setting.directive.name, setting)
    const view = new Settings(candidate, this.cwd)
    for (const { names, call } of this.#validators) {
      const reason = call(view)
      if (reason !== undefined) return [blamed(changes, names), reason]
    }
    return this.#apply(candidate, changes)
  }

  #apply(
    candidate: SettingMap,
    changes: readonly Change[],
  ): readonly [name: string, reason: string] | undefined {
    const before = this.settings
    const changed = changedNames(before, changes)
    this.replace(candidate)
    const called: Watch<Applier>[] = []
    for (const applier of this.#appliers) {
      if (!applier.names.some((name) => changed.has(name))) continue
      called.push(applier)
      const reason = applier.call(this, changed)
      if (reason === undefined) continue
      this.replace(before)
      for (const { call } of called.toReversed()) call(this, changed)
      return [blamed(changes, applier.names), reason]
    }
    for (const { names, call } of this.#followers) {
      if (names.some((name) => changed.has(name))) call(this, changed)
    }
    return undefined
  }
}

/** The name to report in an error: the first pair about one of `names`, else the first. */
function blamed(changes: readonly Change[], names: readonly DirectiveName[]): string {
  const about = changes.find(({ setting }) => names.some((name) => name === setting.directive.name))
  return (about ?? changes[0])?.typed ?? ''
}

function changedNames(before: SettingMap, changes: readonly Change[]): ReadonlySet<DirectiveName> {
  const isNew = ({ directive, text }: Setting): boolean =>
    directive.volatile === true || before.get(directive.name)?.text !== text
  const names = changes
    .filter(({ setting }) => isNew(setting))
    .map(({ setting }) => setting.directive.name)
  return new Set(names as DirectiveName[])
}
