import { readFileSync } from 'node:fs'

/** Time that the main thread of a process has been ready to run and has waited for a processor, in ms (Linux; else 0). */
export function waitedMs(pid: number | undefined): number {
  try {
    const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')
    return Number(waited) / 1e6
  } catch {
    return 0
  }
}
