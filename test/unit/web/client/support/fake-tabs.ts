import type { ClientClock, OpenSocket } from '../../../../../web/client/environment.ts'
import { TabHub } from '../../../../../web/client/tabs/tab-hub.ts'
import type { FakeServer } from './fake-server.ts'

/** One tab's way to the hub. */
export interface FakePort {
  /** The tab takes nothing in: it says so to nobody. */
  isStuck: boolean
  /** The tab is gone, without a word. */
  die(): void
}

/**
 * Lets all clients of a {@link FakeServer} that are made with `share: 'tabs'` share one connection.
 *
 * @returns The ports, in the order in which the clients opened them.
 */
export function shareTabsOf(server: FakeServer): FakePort[] {
  const ports: FakePort[] = []
  server.shared = openerOf(server.clock, server.openSocket, ports)
  return ports
}

/** Makes sockets that share one connection. */
export function openerOf(
  clock: ClientClock,
  openSocket: OpenSocket,
  ports: FakePort[] = [],
): OpenSocket {
  const hub = new TabHub(clock, openSocket)
  return (url, protocols, listener) => {
    let isOver = false
    const tab = hub.join({
      post: (notice) => {
        if (isOver) return
        if (notice.type === 'opened') {
          listener.opened()
        } else if (notice.type === 'received') {
          if (port.isStuck) return
          listener.received(notice.bytes)
          tab.request({ type: 'taken', bytes: notice.bytes.length })
        } else if (notice.type === 'closed') {
          isOver = true
          listener.closed(notice.code, notice.reason)
        }
      },
      close: () => undefined,
    })
    const port: FakePort = {
      isStuck: false,
      die: () => {
        isOver = true
        tab.gone()
      },
    }
    ports.push(port)
    // A port delivers later than it is posted to.
    queueMicrotask(() => tab.request({ type: 'open', url, protocols, lock: '' }))
    return {
      send: (bytes) => tab.request({ type: 'send', bytes }),
      close: (code) => {
        isOver = true
        tab.request({ type: 'close', isDead: code === undefined })
      },
    }
  }
}
