import { WebSocket } from 'ws'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Subscription } from '../../../../web/client/types.ts'

/** The part of the library that is tested; its own types are those of a page. */
interface Library {
  readonly connect: (
    url: string,
    options: object,
  ) => { subscribe(name: string, handler: () => void): Subscription; close(): void }
}

const LIBRARY = '../../../../web/client/index.ts'

/** The library, as it is loaded with the globals of this moment. */
async function load(): Promise<Library> {
  vi.resetModules()
  return (await import(LIBRARY)) as Library
}

afterEach(() => {
  vi.unstubAllGlobals()
  // Files share their modules: none may stay that was loaded without these globals.
  vi.resetModules()
})

describe('Mistakes on this side', () => {
  test.each([
    ['a relative address outside of a page', '/ws'],
    ['no address', 'ws://'],
    ['a port that is none', 'ws://localhost:99999/ws'],
    ['another protocol', 'redis://localhost:6380'],
  ])('are told at once, as such: %s', async (_what, url) => {
    const { connect } = await load()
    expect(() => connect(url, { WebSocket })).toThrow(
      expect.objectContaining({ name: 'SetupError', code: 'ERR_SETUP' }),
    )
  })

  test('are told at once, as such: no WebSocket', async () => {
    vi.stubGlobal('WebSocket', undefined)
    const { connect } = await load()
    expect(() => connect('ws://127.0.0.1:1/ws', {})).toThrow(/option.* ws$/)
  })

  test('a page may give a relative address', async () => {
    vi.stubGlobal('document', {
      baseURI: 'https://app.example.com/room',
      addEventListener() {},
      removeEventListener() {},
    })
    const { connect } = await load()
    class Never extends EventTarget {
      binaryType = ''
      send(): void {}
      close(): void {}
    }
    expect(() => connect('/ws', { WebSocket: Never }).close()).not.toThrow()
  })
})

test('the library can be imported where there are no events', async () => {
  vi.stubGlobal('EventTarget', undefined)
  vi.stubGlobal('CustomEvent', undefined)
  const { connect } = await load()
  const client = connect('ws://127.0.0.1:1/ws', { WebSocket })
  const { ready } = client.subscribe('news', () => undefined)
  client.close()
  await expect(ready).rejects.toMatchObject({ code: 'ERR_CLOSED' })
})
