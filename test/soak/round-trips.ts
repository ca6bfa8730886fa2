import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../support/process.ts'
import type { Seats } from './processor.ts'

/** Round trip of a PING, in ms. */
export interface RoundTrip {
  readonly ms: number
  /** Without the time for which server and probe waited for a processor that others had. */
  readonly ownMs: number
}

/** Arguments of the process of `pinger.ts`. */
export interface PingerTask {
  readonly url: string
  readonly token: string
  /** Of the server, whose waiting is no fault of its own. */
  readonly serverPid: number | undefined
}

/** Messages of that process. */
export type PingerAnswer =
  | 'ready'
  | { readonly trips: readonly RoundTrip[] }
  | { readonly closedWith: number }

/** Honest client that measures round trips, in a process of its own: no work of other clients comes between its PING and the answer. */
export class Pinger {
  readonly #child: ChildProcess
  #taken: ((trips: readonly RoundTrip[]) => void) | undefined
  #isOver = false

  private constructor(child: ChildProcess, complain: (text: string) => void) {
    this.#child = child
    child.on('message', (answer: PingerAnswer) => {
      if (answer === 'ready') return
      if ('trips' in answer) this.#taken?.(answer.trips)
      else if (!this.#isOver) complain(`the probe was closed with ${answer.closedWith}`)
    })
    child.once('exit', (code, signal) => {
      if (!this.#isOver) complain(`the probe ended: code ${code}, ${signal ?? 'no signal'}`)
      this.#taken?.([])
    })
  }

  /** @param complain Told if the server closes it. */
  static async start(
    task: PingerTask,
    seats: Seats,
    complain: (text: string) => void,
  ): Promise<Pinger> {
    const [program, ...args] = seats.probe([
      process.execPath,
      '--import',
      'tsx',
      join(import.meta.dirname, 'pinger.ts'),
      JSON.stringify(task),
    ])
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve())
      child.once('exit', () => reject(new Error('the probe could not connect')))
    })
    seats.preferProbe(child)
    return new Pinger(child, complain)
  }

  /** The round trips since the last call, that of the PING on its way included. None once the server has closed it. */
  take(): Promise<readonly RoundTrip[]> {
    const { connected } = this.#child
    if (!connected) return Promise.resolve([])
    return new Promise((resolve) => {
      this.#taken = resolve
      this.#child.send('take')
    })
  }

  close(): void {
    this.#isOver = true
    this.#child.kill('SIGKILL')
  }
}
