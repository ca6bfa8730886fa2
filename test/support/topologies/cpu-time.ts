import { readFileSync } from 'node:fs'

/** Clock ticks of a second, as Linux counts them for processes. */
const TICKS = 100

/** CPU time of a process so far, in seconds; 0 where there is no `/proc`, or the process has ended. */
export function cpuSeconds(pid: number): number {
  try {
    // The name in brackets may have spaces in it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return 0
  }
}
