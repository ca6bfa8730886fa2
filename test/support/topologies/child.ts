import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** Processes that live; they end with this one, whatever ends it. */
const living = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

/** A program of which one process runs at a time, and whose output goes to a file. */
export class Child {
  readonly #command: readonly string[]
  readonly #options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }
  readonly #logFile: string
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(
    command: readonly string[],
    options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
    logFile: string,
  ) {
    this.#command = command
    this.#options = options
    this.#logFile = logFile
  }

  get isAlive(): boolean {
    return this.#child !== undefined
  }

  /** All that the processes have said. */
  get log(): string {
    return readFileSync(this.#logFile, 'latin1')
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`${this.#command[0]} does not run`)
    return this.#child.pid
  }

  spawn(): void {
    if (this.#child) throw new Error(`${this.#command[0]} runs already`)
    const [program = '', ...args] = this.#command
    const log = openSync(this.#logFile, 'a')
    const child = spawn(program, args, { ...this.#options, stdio: ['ignore', log, log] })
    closeSync(log)
    living.add(child)
    this.#child = child
    this.#ended = new Promise((resolve) => {
      const end = (): void => {
        living.delete(child)
        if (this.#child === child) this.#child = undefined
        resolve()
      }
      child.once('exit', end)
      child.once('error', end)
    })
  }

  /** Ends the process with `kill -9` or another signal, and waits for its end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal)
    await this.#ended
  }

  /** SIGSTOP: it keeps its connections, and does nothing. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP')
  }

  /** SIGCONT. */
  resume(): void {
    process.kill(this.pid, 'SIGCONT')
  }
}
