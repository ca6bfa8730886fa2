import { RespcastClient } from '../../web/client/client.ts'
import type { Environment } from '../../web/client/environment.ts'
import { settingsOf } from '../../web/client/options.ts'
import type { ConnectOptions, WebSocketConstructor } from '../../web/client/options.ts'
import { systemClock } from '../../server/clock.ts'

/** A client of a server in memory, which hardly waits before it connects again. */
export function memoryClient(
  WebSocket: WebSocketConstructor,
  options: ConnectOptions = { token: 'any' },
): RespcastClient {
  const environment: Environment = {
    clock: systemClock,
    random: () => 0,
    isOffline: () => false,
    onWake: () => () => undefined,
    openSocket: (url, protocols, listener) => {
      const socket = new WebSocket(url, [...protocols])
      socket.addEventListener('open', () => listener.opened())
      socket.addEventListener('message', ({ data }) =>
        listener.received(new Uint8Array(data as ArrayBuffer)),
      )
      socket.addEventListener('close', ({ code, reason }) => listener.closed(code, reason))
      return socket
    },
  }
  const settings = settingsOf({ reconnect: { baseMs: 1, maxMs: 1 }, ...options })
  return new RespcastClient('ws://test/ws', settings, environment)
}
