import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ClientSocket, Environment } from '../../../../../web/client/environment.ts'
import type { TabNotice, TabRequest } from '../../../../../web/client/tabs/tab-hub.ts'
import { FakeLocks } from '../support/fake-locks.ts'

// The file has types of pages, which the tests are compiled without.
const FILE = '../../../../../web/client/tabs/tabs.ts'
const { shareTabs } = (await import(FILE)) as Required<Pick<Environment, 'shareTabs'>>

const URL = 'wss://example.test/ws'
const WORKER_LOCK = 'lock of the worker'

/** The port of a tab to a worker that the test plays. */
class FakePort extends EventTarget {
  readonly posted: TabRequest[] = []
  isClosed = false

  start(): void {}

  close(): void {
    this.isClosed = true
  }

  postMessage(request: TabRequest): void {
    this.posted.push(request)
  }

  /** The worker posts a message. */
  notice(data: TabNotice): void {
    this.dispatchEvent(new MessageEvent('message', { data }))
  }
}

describe('A tab that shares its connection', () => {
  let locks: FakeLocks
  let ports: FakePort[]
  let events: string[]
  /** What workers say first; undefined: nothing. */
  let hello: TabNotice | undefined

  beforeEach(() => {
    locks = new FakeLocks()
    locks.hold(WORKER_LOCK)
    ports = []
    events = []
    hello = { type: 'hello', lock: WORKER_LOCK }
    class FakeSharedWorker extends EventTarget {
      readonly port = new FakePort()

      constructor() {
        super()
        ports.push(this.port)
        queueMicrotask(() => {
          if (hello) this.port.notice(hello)
          else this.dispatchEvent(new Event('error'))
        })
      }
    }
    vi.stubGlobal('SharedWorker', FakeSharedWorker)
    vi.stubGlobal('navigator', { locks })
  })

  afterEach(() => {
    vi.unstubAllGlobals()
  })

  async function open(name = 'tab'): Promise<ClientSocket | undefined> {
    const openSocket = await shareTabs(URL, undefined, '/tabs-worker.js')
    return openSocket?.(URL, ['resp3'], {
      opened: () => events.push(`${name} opened`),
      received: (bytes) => events.push(`${name} received ${bytes.length}`),
      closed: (code) => events.push(`${name} closed ${code}`),
    })
  }

  test('learns at once that the worker is gone, by its lock, as all tabs do', async () => {
    await open('one')
    await open('other')
    expect(events).toEqual([])
    locks.free(WORKER_LOCK)
    expect(events).toEqual(['one closed 1006', 'other closed 1006'])
    expect(ports.map(({ isClosed }) => isClosed)).toEqual([true, true])
    // Nor does it hold anything that would tell the next worker that it lives.
    await vi.waitFor(() => expect(locks.held).toEqual([]))
  })

  test('learns it also where the worker went before it could ask', async () => {
    locks.free(WORKER_LOCK)
    await open()
    expect(events).toEqual(['tab closed 1006'])
  })

  test('is told nothing more after its connection was closed by the server', async () => {
    await open()
    ports[0]?.notice({ type: 'closed', code: 4503, reason: '' })
    locks.free(WORKER_LOCK)
    expect(events).toEqual(['tab closed 4503'])
  })

  test('waits for no lock after it has closed', async () => {
    const socket = await open()
    expect(locks.wanted).toEqual([WORKER_LOCK])
    socket?.close(1000)
    expect(locks.wanted).toEqual([])
    locks.free(WORKER_LOCK)
    expect(events).toEqual([])
    expect(ports[0]?.posted.at(-1)).toEqual({ type: 'close', isDead: false })
  })

  test('goes on with a worker that holds no lock: its heartbeat has to find out', async () => {
    hello = { type: 'hello', lock: undefined }
    await open()
    expect(locks.wanted).toEqual([])
    ports[0]?.notice({ type: 'opened' })
    ports[0]?.notice({ type: 'received', bytes: new Uint8Array(5) })
    expect(events).toEqual(['tab opened', 'tab received 5'])
    expect(ports[0]?.posted.at(-1)).toEqual({ type: 'taken', bytes: 5 })
  })

  test('holds a lock that tells the worker of its own end', async () => {
    const socket = await open()
    const [request] = ports[0]?.posted ?? []
    expect(request).toMatchObject({ type: 'open', url: URL, protocols: ['resp3'] })
    const lock = request?.type === 'open' ? request.lock : ''
    expect(locks.held).toContain(lock)
    socket?.close()
    await vi.waitFor(() => expect(locks.held).not.toContain(lock))
  })

  test('has a connection of its own where the worker does not start, or there are no locks', async () => {
    hello = undefined
    expect(await open()).toBeUndefined()
    expect(ports[0]?.isClosed).toBe(true)
    vi.stubGlobal('navigator', {})
    expect(await open()).toBeUndefined()
    expect(ports).toHaveLength(1)
  })
})
