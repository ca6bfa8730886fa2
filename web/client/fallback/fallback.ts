import type { Environment, OpenSocket } from '../environment.ts'
import { opener } from './event-socket.ts'

/** Failures in a row after which the other transport is tried. */
const TRIES = 2

/** What was found out about an address. */
interface Way {
  /** A WebSocket was open once: what breaks it later is no reason to leave it. */
  hasWorked: boolean
  /** Attempts that ended before they were open, of the transport in use. */
  failures: number
  isByEvents: boolean
}

/** By address: clients of one page share it. */
const ways = new Map<string, Way>()

/**
 * Chooses how to connect: by a WebSocket, or where two in a row have failed without one ever having been open, by server-sent events
 * and requests that publish. Where these fail twice, WebSockets are tried again.
 */
export function fallBack(
  url: string,
  { clock, openSocket }: Pick<Environment, 'clock' | 'openSocket'>,
): OpenSocket {
  const way = ways.get(url) ?? { hasWorked: false, failures: 0, isByEvents: false }
  ways.set(url, way)
  if (way.failures >= TRIES && !way.hasWorked) {
    way.isByEvents = !way.isByEvents
    way.failures = 0
  }
  const isByEvents = way.isByEvents && !way.hasWorked
  const open = isByEvents ? opener(clock) : openSocket
  return (address, protocols, listener) => {
    let isOpen = false
    return open(address, protocols, {
      opened: () => {
        isOpen = true
        way.failures = 0
        if (!isByEvents) way.hasWorked = true
        listener.opened()
      },
      received: (bytes) => listener.received(bytes),
      closed: (code, reason) => {
        if (!isOpen) way.failures++
        listener.closed(code, reason)
      },
    })
  }
}
