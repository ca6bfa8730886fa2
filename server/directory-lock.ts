import {
  closeSync,
  fstatSync,
  futimesSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { sleep, type Clock, type Timer } from './clock.ts'
import { RespcastError } from './errors.ts'

/** Name of a lock file, before its number. */
const LOCK_NAME = 'respcast.lock.'

/** Interval at which a holder shows that it lives, in ms. */
const BEAT_MS = 2_000

/** Time without a sign of life after which a holder that cannot be looked up counts as gone, in ms. */
const SILENT_MS = 4 * BEAT_MS

/** Interval at which such a holder is looked at, in ms. */
const LOOK_MS = 250

/** The process that holds a directory, as its lock file names it. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** Id of the kernel's boot; empty where the system has none. */
  readonly boot: string
  /** The namespace in which `pid` counts; empty where the system has none. */
  readonly namespace: string
  /** Start of the process in ticks of the kernel, which no clock moves; empty where the system does not tell. */
  readonly start: string
  /** The same by the wall clock, for people; milliseconds since 1970. */
  readonly startedMs: number
  /** Time of the lock; milliseconds since 1970. */
  readonly sinceMs: number
}

/** `unknown`: on another machine, in another container, or its file is not whole. */
type Verdict = 'alive' | 'gone' | 'unknown'

/** Another's lock. */
interface Found {
  readonly number: number
  readonly path: string
  readonly holder: Holder | undefined
  readonly isReleased: boolean
  readonly verdict: Verdict
}

/** Options of a {@link DirectoryLock}. */
interface LockParts {
  readonly folder: string
  readonly clock: Clock
  /** Waits for so many milliseconds, and keeps the process alive; tests replace it. */
  readonly sleep?: (ms: number) => Promise<void>
  /** It will take some seconds to find out whether the holder lives. */
  readonly onWait?: (holder: string) => void
}

/**
 * Exclusive use of a directory by one process: a second one is refused, and told who holds it.
 *
 * Node.js has no flock. Lock files are numbered, and the highest number counts: whoever finds its holder gone creates the
 * next one with O_EXCL, so that of several processes exactly one succeeds. The highest file is never removed, not even by
 * its holder, who marks it as released; therefore no process can remove a lock that another has just taken, as happens
 * where a stale file is deleted and made again.
 *
 * A holder in the same PID namespace of the same boot is looked up in /proc by PID and start time, so that a lock outlives
 * neither SIGKILL nor the reuse of its PID. One in another container or on another machine shows that it lives by touching
 * its file. Others watch whether the time of the file *changes*, by their own monotonic clock, so that no clock has to be
 * right. A holder that was suspended for longer than that finds its file gone, and {@link confirm} keeps it from writing.
 */
export class DirectoryLock {
  readonly #parts: LockParts
  #number = 0
  #file: number | undefined
  #beat: Timer | undefined
  #isLost = false
  #tookOver = false

  constructor(parts: LockParts) {
    this.#parts = parts
  }

  /** The problem that `/readyz` reports; undefined if there is none. */
  get problem(): string | undefined {
    return this.#isLost ? this.#lostText : undefined
  }

  /** The holder before this one did not release it: it crashed, was suspended, or there was none. */
  get tookOver(): boolean {
    return this.#tookOver
  }

  get isHeld(): boolean {
    return this.#file !== undefined
  }

  /**
   * Takes the lock. If only watching can tell whether the holder lives, that takes up to {@link SILENT_MS}.
   *
   * @throws RespcastError `ERR_DIR_IN_USE`, `ERR_DATA_DIR`
   */
  async take(): Promise<void> {
    const { sleep: wait = sleep, onWait } = this.#parts
    const first = this.#attempt()
    if (first === undefined) return
    const watched = timeOf(first)
    let found: Found | undefined = first
    for (let waitedMs = 0; found !== undefined; waitedMs += LOOK_MS) {
      if (found.verdict === 'alive') throw this.#inUse(found)
      if (waitedMs === BEAT_MS) onWait?.(describe(found.holder))
      if (timeOf(found) !== watched) throw this.#inUse(found)
      if (waitedMs < SILENT_MS) await wait(LOOK_MS)
      found = this.#attempt(waitedMs < SILENT_MS ? undefined : found.number)
    }
  }

  /**
   * As {@link take}, without waiting: a holder that cannot be looked up counts as alive.
   *
   * @throws RespcastError `ERR_DIR_IN_USE`, `ERR_DATA_DIR`
   */
  takeNow(): void {
    const found = this.#attempt()
    if (found !== undefined) throw this.#inUse(found)
  }

  /**
   * Settles if this process still holds the directory, or can take it now. To be called before each write.
   *
   * @throws RespcastError `ERR_DIR_IN_USE`: another process has it; the system's error.
   */
  async confirm(): Promise<void> {
    if (this.#file === undefined) this.takeNow()
    if (!this.#isLost) {
      try {
        await stat(this.#pathOf(this.#number))
        return
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        this.#regain()
      }
    }
    if (this.#isLost) throw new RespcastError('ERR_DIR_IN_USE', this.#lostText)
  }

  /** Lets the directory go, for the next process. */
  release(): void {
    const file = this.#file
    if (file === undefined) return
    this.#stop()
    try {
      ftruncateSync(file)
      writeSync(file, RELEASED, 0)
    } catch {
      // The next process finds that this one has ended.
    }
    closeSync(file)
  }

  /**
   * Creates the lock file after the highest one, if the holder of that is gone.
   *
   * @param silent Number of a lock whose holder was watched in vain.
   * @returns The lock that is in the way, if there is one.
   */
  #attempt(silent?: number): Found | undefined {
    try {
      for (;;) {
        const last = Math.max(0, ...this.#numbers())
        const found = last > 0 ? this.#look(last) : undefined
        if (found && found.verdict !== 'gone' && last !== silent) return found
        this.#tookOver = found?.isReleased !== true
        if (this.#create(last + 1)) return undefined
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new RespcastError(
        'ERR_DATA_DIR',
        `dir: ${this.#parts.folder} cannot be locked (${code ?? String(error)}), so that revocations would not survive. ` +
          'Let dir name a folder that this user may write.',
        { cause: error },
      )
    }
  }

  /**
   * @param isAgain This process has held the number before, and no other may have been taken since.
   * @returns False where another process was faster.
   */
  #create(number: number, isAgain = false): boolean {
    const path = this.#pathOf(number)
    let file: number
    try {
      file = openSync(path, 'wx', 0o644)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
    try {
      writeSync(file, `${JSON.stringify(self(this.#parts.clock))}\n`)
      // Others may have gone on since the files were listed, and have removed this number.
      const numbers = this.#numbers()
      if (numbers.some((other) => other > number || (isAgain && other < number))) {
        rmSync(path, { force: true })
        closeSync(file)
        return false
      }
      for (const other of numbers) {
        if (other < number) rmSync(this.#pathOf(other), { force: true })
      }
    } catch (error) {
      rmSync(path, { force: true })
      closeSync(file)
      throw error
    }
    this.#hold(number, file)
    return true
  }

  #hold(number: number, file: number): void {
    this.#number = number
    this.#file = file
    this.#beat = this.#parts.clock.every(BEAT_MS, () => this.#show())
  }

  /** Shows that this process lives. */
  #show(): void {
    if (this.#file === undefined) return
    const seconds = this.#parts.clock.wallMs() / 1000
    try {
      futimesSync(this.#file, seconds, seconds)
      if (fstatSync(this.#file).nlink === 0) this.#regain()
    } catch {
      // The disk does not answer; the next write will say so.
    }
  }

  /**
   * The lock file is gone: either another process has taken over, or somebody tidied up.
   *
   * @throws The system's error: the folder cannot be used now.
   */
  #regain(): void {
    const lost = this.#file
    if (lost === undefined) return
    if (this.#numbers().length === 0) {
      this.#stop()
      try {
        if (this.#create(this.#number, true)) {
          closeSync(lost)
          return
        }
      } finally {
        if (this.#file === undefined) this.#hold(this.#number, lost)
      }
    }
    this.#isLost = true
    this.#beat?.cancel()
  }

  #stop(): void {
    this.#beat?.cancel()
    this.#beat = undefined
    this.#file = undefined
  }

  #look(number: number): Found {
    const path = this.#pathOf(number)
    const text = readText(path)
    const isReleased = text === RELEASED
    const holder = parse(text)
    const verdict = isReleased ? 'gone' : judge(holder, self(this.#parts.clock))
    return { number, path, holder, isReleased, verdict }
  }

  #numbers(): number[] {
    return readdirSync(this.#parts.folder)
      .filter((name) => name.startsWith(LOCK_NAME))
      .map((name) => name.slice(LOCK_NAME.length))
      .filter((digits) => /^[1-9]\d{0,14}$/.test(digits))
      .map(Number)
  }

  #pathOf(number: number): string {
    return join(this.#parts.folder, LOCK_NAME + number)
  }

  get #lostText(): string {
    return `dir: ${this.#parts.folder} was taken over by another server while this one stood still; end this one`
  }

  #inUse({ holder }: Found): RespcastError {
    return new RespcastError(
      'ERR_DIR_IN_USE',
      `dir: ${this.#parts.folder} is in use by ${describe(holder)}. Two servers would lose each other's revocations: ` +
        'end that one first, or give this one a dir of its own.',
    )
  }
}

const RELEASED = 'released\n'

function describe(holder: Holder | undefined): string {
  if (!holder) return 'another server, which has not given its name'
  const { pid, host, startedMs, sinceMs } = holder
  const [started, since] = [startedMs, sinceMs].map((ms) => new Date(ms).toISOString())
  return `process ${pid} on ${host}, started ${started}, which has held it since ${since}`
}

/** Time of the last sign of life, in ms of the holder's clock; 0 where the file is gone. */
function timeOf({ path }: Found): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function self(clock: Clock): Holder {
  const sinceMs = Math.floor(clock.wallMs())
  return {
    pid: process.pid,
    host: hostname(),
    boot: readText('/proc/sys/kernel/random/boot_id').trim(),
    namespace: readNamespace(),
    start: startOf(process.pid).start,
    startedMs: Math.floor(sinceMs - process.uptime() * 1000),
    sinceMs,
  }
}

function judge(holder: Holder | undefined, here: Holder): Verdict {
  if (!holder) return 'unknown'
  if (holder.boot !== here.boot || holder.namespace !== here.namespace) return 'unknown'
  const { text, start } = startOf(holder.pid)
  if (here.start !== '' && text !== '') return start === holder.start ? 'alive' : 'gone'
  // Without /proc, or where it hides the processes of others, a PID proves nothing but an end.
  return holder.host !== here.host || isRunning(holder.pid) ? 'unknown' : 'gone'
}

/**
 * The start time of a process in ticks since the boot.
 *
 * @returns `text`: what /proc has, empty without the process. `start`: empty where it has ended and is only not reaped.
 */
function startOf(pid: number): { readonly text: string; readonly start: string } {
  const text = readText(`/proc/${pid}/stat`)
  // The name of the program may hold anything, brackets too: proc_pid_stat(5).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const hasEnded = fields[0] === 'Z' || fields[0] === 'X'
  return { text, start: hasEnded ? '' : (fields[19] ?? '') }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function readNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

/** @returns Undefined for a text that no whole holder is. */
function parse(text: string): Holder | undefined {
  try {
    const value = JSON.parse(text) as Partial<Holder> | null
    return isHolder(value) ? value : undefined
  } catch {
    return undefined
  }
}

const TEXTS = ['host', 'boot', 'namespace', 'start'] as const
const NUMBERS = ['pid', 'startedMs', 'sinceMs'] as const

function isHolder(value: Partial<Holder> | null): value is Holder {
  return (
    value !== null &&
    TEXTS.every((name) => typeof value[name] === 'string') &&
    NUMBERS.every((name) => Number.isSafeInteger(value[name]))
  )
}

/** The folders of files, each once; a name that is empty has none. */
export function foldersOf(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => path !== '').map((path) => realFolder(dirname(path))))]
}

/** A folder without symbolic links in its path; as it is if it does not exist. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}
