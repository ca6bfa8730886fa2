import { utf8Bytes } from '../../shared/bytes.ts'
import type { Environment } from './environment.ts'

/** The environment of a page or a worker. */
export const browserEnvironment: Environment = {
  clock: {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    after(delayMs, callback) {
      const handle = setTimeout(callback, delayMs)
      return { cancel: () => clearTimeout(handle) }
    },
  },
  random: () => Math.random(),
  openSocket(url, protocols, listener) {
    const socket = new WebSocket(url, [...protocols])
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', () => listener.opened())
    socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      listener.received(typeof data === 'string' ? utf8Bytes(data) : new Uint8Array(data))
    })
    socket.addEventListener('close', ({ code, reason }) => listener.closed(code, reason))
    return {
      send: (bytes) => socket.send(bytes),
      close: (code, reason) => socket.close(code, reason),
    }
  },
  onWake(callback) {
    const visible = (): void => {
      if (globalThis.document.visibilityState === 'visible') callback()
    }
    globalThis.addEventListener('online', callback)
    globalThis.addEventListener('pageshow', callback)
    globalThis.document?.addEventListener('visibilitychange', visible)
    return () => {
      globalThis.removeEventListener('online', callback)
      globalThis.removeEventListener('pageshow', callback)
      globalThis.document?.removeEventListener('visibilitychange', visible)
    }
  },
}
