/**
 * Runs inside the server under attack, by `--import`. Answers each message of the parent process with the longest turn of the event
 * loop since the last one, in ms of processor time, and with the memory that is in use after a full collection.
 */
import { openSync, readSync } from 'node:fs'

/** Processor time of this thread in ns comes first in it (Linux). */
const schedule = openSync('/proc/self/schedstat', 'r')
const bytes = Buffer.alloc(64)

function processorMs() {
  const length = readSync(schedule, bytes, 0, bytes.length, 0)
  return Number.parseInt(bytes.toString('latin1', 0, length), 10) / 1e6
}

let lastMs = processorMs()
let longestMs = 0

// It fires once in a turn.
setInterval(() => {
  const nowMs = processorMs()
  longestMs = Math.max(longestMs, nowMs - lastMs)
  lastMs = nowMs
}, 1).unref()

process.on('message', () => {
  const turnMs = longestMs
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  process.send({ turnMs, usedBytes: heapUsed + external })
  longestMs = 0
  lastMs = processorMs()
})
