/**
 * Runs inside the server under attack, by `--import`. Answers each message of the parent process with the longest turn of the event
 * loop since the last one, in ms of processor time, and with the memory that is in use after a full collection. Where SOAK_PROFILE is
 * set, it prints at the end what the longest turns executed.
 */
import { openSync, readSync } from 'node:fs'
import { TurnProfile } from './turn-profile.mjs'

/** Processor time of this thread in ns comes first in it (Linux). */
const schedule = openSync('/proc/self/schedstat', 'r')
const bytes = Buffer.alloc(64)

function processorMs() {
  const length = readSync(schedule, bytes, 0, bytes.length, 0)
  return Number.parseInt(bytes.toString('latin1', 0, length), 10) / 1e6
}

const profile = process.env.SOAK_PROFILE === undefined ? undefined : new TurnProfile()
await profile?.start()
let lastMs = processorMs()
let longestMs = 0

// It fires once in a turn.
setInterval(() => {
  const nowMs = processorMs()
  longestMs = Math.max(longestMs, nowMs - lastMs)
  profile?.endTurn(nowMs - lastMs)
  lastMs = nowMs
}, 1).unref()

process.on('message', (what) => void tell(what))

async function tell(what) {
  const turnMs = longestMs
  const told = what === 'last' ? await profile?.finish() : undefined
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  process.send({ turnMs, usedBytes: heapUsed + external, told })
  longestMs = 0
  profile?.reset()
  lastMs = processorMs()
}

// It has a session of its own, and nothing else would end it where the parent is interrupted.
process.on('disconnect', () => process.exit(0))
