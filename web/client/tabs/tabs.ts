import type { ClientSocket, OpenSocket, SocketListener } from '../environment.ts'
import type { TabNotice, TabRequest } from './tab-hub.ts'
import { subjectOf } from '../token-source.ts'

/** Time limit for the first message of the worker. Milliseconds. */
const HELLO_TIMEOUT_MS = 2000

/**
 * Joins the connection that the tabs of this origin share, or opens it.
 *
 * Tabs share if the address and the subject (`sub`) of their tokens are the same; without a token, if the address is.
 *
 * @param script The worker's script; undefined: `tabs-worker.js` beside this file.
 * @returns Undefined where the browser has no shared workers or no Web Locks, or does not let the worker start.
 */
export async function shareTabs(
  url: string,
  token: string | undefined,
  script: string | URL | undefined,
): Promise<OpenSocket | undefined> {
  if (typeof SharedWorker !== 'function' || !globalThis.navigator?.locks) return undefined
  const name = JSON.stringify(['respcast', url, subjectOf(token)])
  // Bundlers recognise this very expression, and make the worker a file of its own. The comment is for the build of this library
  // alone, which leaves it out.
  const worker = script
    ? new SharedWorker(script, { type: 'module', name })
    : new SharedWorker(new URL(/* @vite-ignore */ './tabs-worker.js', import.meta.url), {
        type: 'module',
        name,
      })
  const { port } = worker
  const hello = await new Promise<TabNotice | undefined>((resolve) => {
    const deadline = AbortSignal.timeout(HELLO_TIMEOUT_MS)
    deadline.addEventListener('abort', () => resolve(undefined))
    worker.addEventListener('error', () => resolve(undefined))
    port.addEventListener('message', ({ data }) => resolve(data), { once: true })
    port.start()
  })
  if (hello?.type !== 'hello') {
    port.close()
    return undefined
  }
  const { lock } = hello
  return (address, protocols, listener) => openShared(port, lock, address, protocols, listener)
}

/**
 * A socket over the port of the worker.
 *
 * @param workerLock Lock that the worker holds as long as it lives. Workers of an earlier version hold none.
 */
function openShared(
  port: MessagePort,
  workerLock: string | undefined,
  url: string,
  protocols: readonly string[],
  listener: SocketListener,
): ClientSocket {
  const post = (request: TabRequest): void => port.postMessage(request)
  let release = (): void => undefined
  let isOver = false
  const ended = new AbortController()
  const over = (): void => {
    isOver = true
    release()
    ended.abort()
    port.close()
  }
  const closed = (code: number, reason: string): void => {
    if (isOver) return
    over()
    listener.closed(code, reason)
  }
  port.addEventListener('message', ({ data }: MessageEvent<TabNotice>) => {
    if (isOver) return
    if (data.type === 'opened') listener.opened()
    else if (data.type === 'received') {
      listener.received(data.bytes)
      post({ type: 'taken', bytes: data.bytes.length })
    } else if (data.type === 'closed') {
      closed(data.code, data.reason)
    }
  })
  if (workerLock !== undefined) {
    // Shared, so that all tabs get it at once: the worker ended, with its connection.
    navigator.locks
      .request(workerLock, { mode: 'shared', signal: ended.signal }, () => closed(1006, ''))
      .catch(() => undefined)
  }
  // The worker waits for this lock, and gets it when the tab has ended for whatever reason.
  const lock = `respcast ${crypto.randomUUID()}`
  void navigator.locks.request(lock, () => {
    if (isOver) return undefined
    post({ type: 'open', url, protocols, lock })
    return new Promise<void>((resolve) => {
      release = resolve
    })
  })
  return {
    send: (bytes) => post({ type: 'send', bytes }),
    close: (code) => {
      if (isOver) return
      // A client that closes passes a code; one that drops a dead connection does not.
      post({ type: 'close', isDead: code === undefined })
      over()
    },
  }
}
