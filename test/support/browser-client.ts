import { WebSocket } from 'ws'
import { systemClock } from '../../server/clock.ts'
import { RespcastClient } from '../../web/client/client.ts'
import type { Environment } from '../../web/client/environment.ts'
import { settingsOf, type ConnectOptions } from '../../web/client/options.ts'

/** What the client library has in a browser, of Node.js and the package `ws`. */
export const ENVIRONMENT: Environment = {
  clock: {
    wallMs: () => systemClock.wallMs(),
    monotonicMs: () => systemClock.monotonicMs(),
    after: (delayMs, callback) => systemClock.after(delayMs, callback),
  },
  random: () => Math.random(),
  openSocket: (url, protocols, listener) => {
    const socket = new WebSocket(url, [...protocols], { perMessageDeflate: false })
    socket.on('open', () => listener.opened())
    socket.on('message', (data) => listener.received(new Uint8Array(data as Buffer)))
    socket.on('close', (code, reason) => listener.closed(code, reason.toString()))
    socket.on('error', () => {})
    return {
      send: (bytes) => socket.send(bytes),
      close: (code, reason) => socket.close(code, reason),
    }
  },
  isOffline: () => false,
  onWake: () => () => {},
}

/** Connects the client library to a real server, as `connect` does in a page. */
export function connectBrowser(url: string, options: ConnectOptions): RespcastClient {
  return new RespcastClient(url, settingsOf(options), ENVIRONMENT)
}
