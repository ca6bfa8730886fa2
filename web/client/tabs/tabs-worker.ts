import { environmentOf } from '../browser-environment.ts'
import { TabHub } from './tab-hub.ts'
import type { TabRequest } from './tab-hub.ts'

/** The shared worker of `share: 'tabs'`. */
const { clock, openSocket } = environmentOf()
const hub = new TabHub(clock, openSocket)

globalThis.addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  if (!port) return
  const tab = hub.join({ post: (notice) => port.postMessage(notice), close: () => port.close() })
  port.addEventListener('message', ({ data }: MessageEvent<TabRequest>) => {
    tab.request(data)
    // A tab holds its lock until it is gone.
    if (data.type === 'open') void navigator.locks.request(data.lock, () => tab.gone())
  })
  port.start()
})
