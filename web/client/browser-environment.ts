import { utf8Bytes } from '../../shared/bytes.ts'
import type { Environment, OpenSocket } from './environment.ts'
import { SetupError } from './errors.ts'
import type { WebSocketConstructor } from './options.ts'

/** Globals of pages, which workers and Node.js may lack. */
const surroundings = globalThis as Partial<
  Pick<typeof globalThis, 'document' | 'navigator' | 'addEventListener' | 'removeEventListener'> & {
    WebSocket: WebSocketConstructor
  }
>

/**
 * The environment of a page, a worker, or Node.js.
 *
 * @param WebSocketClass Undefined: the global one.
 */
export function environmentOf(WebSocketClass?: WebSocketConstructor): Environment {
  return {
    clock: {
      wallMs: () => Date.now(),
      monotonicMs: () => performance.now(),
      after(delayMs, callback) {
        const handle = setTimeout(callback, delayMs)
        return { cancel: () => clearTimeout(handle) }
      },
    },
    random: () => Math.random(),
    openSocket: opener(WebSocketClass),
    checkAddress: (url) => checkAddress(url, WebSocketClass),
    isOffline: () => surroundings.navigator?.onLine === false,
    onWake(callback) {
      const visible = (): void => {
        if (surroundings.document?.visibilityState === 'visible') callback()
      }
      const names = ['online', 'offline', 'pageshow', 'resume']
      for (const name of names) surroundings.addEventListener?.(name, callback)
      surroundings.document?.addEventListener('visibilitychange', visible)
      return () => {
        for (const name of names) surroundings.removeEventListener?.(name, callback)
        surroundings.document?.removeEventListener('visibilitychange', visible)
      }
    },
  }
}

const NO_WEB_SOCKET = 'There is no global WebSocket: give one as an option, as of the package ws'

/** @throws {SetupError} */
function checkAddress(url: string, WebSocketClass: WebSocketConstructor | undefined): void {
  if (!WebSocketClass && !surroundings.WebSocket) throw new SetupError('ERR_SETUP', NO_WEB_SOCKET)
  const base = surroundings.document?.baseURI
  let protocol: string
  try {
    protocol = new URL(url, base).protocol
  } catch {
    protocol = ''
  }
  if (!/^(ws|http)s?:$|^ws\+unix:$/.test(protocol))
    throw new SetupError('ERR_SETUP', `Not the address of a WebSocket: ${url} (wss://host/ws)`)
}

function opener(WebSocketClass: WebSocketConstructor | undefined): OpenSocket {
  return (url, protocols, listener) => {
    const Class = WebSocketClass ?? surroundings.WebSocket
    if (!Class) throw new SetupError('ERR_SETUP', NO_WEB_SOCKET)
    const socket = new Class(url, [...protocols])
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', () => listener.opened())
    socket.addEventListener('message', ({ data }) => {
      listener.received(
        typeof data === 'string' ? utf8Bytes(data) : new Uint8Array(data as ArrayBuffer),
      )
    })
    socket.addEventListener('close', ({ code, reason }) => listener.closed(code, reason))
    // A close follows. Where sockets are event emitters an error without a listener would end the process.
    socket.addEventListener('error', () => undefined)
    return {
      send: (bytes) => socket.send(bytes),
      close: (code, reason) => socket.close(code, reason),
    }
  }
}
