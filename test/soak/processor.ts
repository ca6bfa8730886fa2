import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Time that the main thread of a process has been ready to run and has waited for a processor, in ms (Linux; else 0). */
export function waitedMs(pid: number | undefined): number {
  try {
    const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')
    return Number(waited) / 1e6
  } catch {
    return 0
  }
}

/** A program and its arguments. */
type CommandLine = readonly [program: string, ...args: string[]]

/** Which processors the processes of a soak have, and who goes first. */
export interface Seats {
  /** The server has a processor that no client uses, so that a round trip is what the server makes of it. */
  readonly areApart: boolean
  /** The command line of the server. */
  server(command: CommandLine): CommandLine
  /** The command line of any other process. */
  others(command: CommandLine): CommandLine
  /** Lets the server, which has started, go before all processes of other sessions too. */
  preferServer(child: ChildProcess): void
  /** The command line of the process that measures. */
  probe(command: CommandLine): CommandLine
  /** Lets the process that measures, which has started, go before all others. */
  preferProbe(child: ChildProcess): void
}

/** All processes compete for all processors. */
export const SHARED_SEATS: Seats = {
  areApart: false,
  server: (command) => command,
  others: (command) => command,
  probe: (command) => command,
  preferServer: () => {},
  preferProbe: () => {},
}

/**
 * Gives the server the first processor, at the highest priority, and this process and all others the rest. Shared seats where that is not
 * possible: it takes Linux, two processors, and the right to raise priorities (root).
 */
export function takeSeats(): Seats {
  try {
    const [first, ...rest] = allowedProcessors()
    if (first === undefined || rest.length === 0) return SHARED_SEATS
    const list = rest.join(',')
    run('nice', '-n', '-20', 'true')
    run('taskset', '-a', '-c', '-p', list, `${process.pid}`)
    return {
      areApart: true,
      server: (command) => ['taskset', '-c', list, 'setsid', 'nice', '-n', '-10', ...command],
      others: (command) => ['taskset', '-c', list, ...command],
      probe: (command) => ['taskset', '-c', list, 'setsid', 'nice', '-n', '-20', ...command],
      preferServer: ({ pid }) => {
        // Its main thread only: those that collect garbage and compile beside it compete with the clients, and come after the probe.
        run('taskset', '-c', '-p', `${first}`, `${pid}`)
        preferSession(pid, -10)
      },
      preferProbe: ({ pid }) => preferSession(pid, -20),
    }
  } catch {
    return SHARED_SEATS
  }
}

/** Where the kernel shares time out among sessions first (autogroup), a priority counts within its session only: this is the session's. */
function preferSession(pid: number | undefined, priority: number): void {
  const group = `/proc/${pid}/autogroup`
  if (existsSync(group)) writeFileSync(group, `${priority}`)
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'ignore' })
}

/** Processors that this process may use. */
function allowedProcessors(): number[] {
  const [, list = ''] =
    /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'latin1')) ?? []
  return list.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, at) => from + at)
  })
}
