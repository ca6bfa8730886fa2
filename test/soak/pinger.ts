/**
 * Process of the honest client that measures how long an answer takes: it sends a PING, and 20 ms after its answer the next. Answers
 * each message of its parent with the round trips since the last one, once the PING on its way is answered too.
 */
import { WebSocket } from 'ws'
import { encodeCommand } from '../support/resp-client.ts'
import { openWebSocket } from './honest.ts'
import { waitedMs } from './processor.ts'
import type { PingerAnswer, PingerTask, RoundTrip } from './round-trips.ts'

/** Time between an answer and the next PING, in ms. */
const PING_MS = 20

const { url, token, serverPid } = JSON.parse(process.argv[2] ?? '{}') as PingerTask
const tell = (answer: PingerAnswer): void => void process.send?.(answer)

const ping = encodeCommand('PING')
const waited = (): number => waitedMs(serverPid) + waitedMs(process.pid)
let trips: RoundTrip[] = []
let isAsked = false
let sentMs = 0
let waitedBefore = 0

const webSocket = await openWebSocket(url, token)
webSocket.once('close', (code: number) => {
  tell({ closedWith: code })
  process.disconnect()
})
webSocket.on('message', () => {
  const ms = performance.now() - sentMs
  trips.push({ ms, ownMs: Math.max(0, ms - (waited() - waitedBefore)) })
  if (isAsked) {
    tell({ trips })
    trips = []
    isAsked = false
  }
  setTimeout(send, PING_MS)
})
process.on('message', () => void (isAsked = true))
process.on('disconnect', () => process.exit(0))
tell('ready')
send()

function send(): void {
  waitedBefore = waited()
  sentMs = performance.now()
  if (webSocket.readyState === WebSocket.OPEN) webSocket.send(ping)
}
