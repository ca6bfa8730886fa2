import { environmentOf } from '../browser-environment.ts'
import { TabHub } from './tab-hub.ts'
import type { TabRequest } from './tab-hub.ts'

/** The shared worker of `share: 'tabs'`. */
const { clock, openSocket } = environmentOf()

/** Held until the worker ends, with the tab whose process it runs in: then whoever waits for it gets it. */
const lock = `respcast ${crypto.randomUUID()}`
const hub = new Promise<TabHub>((resolve) => {
  const begin = (held?: string): void => resolve(new TabHub(clock, openSocket, held))
  navigator.locks
    .request(lock, () => {
      begin(lock)
      return new Promise<never>(() => undefined)
    })
    // Without the lock tabs find out by their heartbeat.
    .catch(() => begin())
})

globalThis.addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  if (port) void hub.then((running) => join(running, port))
})

function join(running: TabHub, port: MessagePort): void {
  const tab = running.join({
    post: (notice) => port.postMessage(notice),
    close: () => port.close(),
  })
  port.addEventListener('message', ({ data }: MessageEvent<TabRequest>) => {
    tab.request(data)
    // A tab holds its lock until it is gone.
    if (data.type === 'open') void navigator.locks.request(data.lock, () => tab.gone())
  })
  port.start()
}
