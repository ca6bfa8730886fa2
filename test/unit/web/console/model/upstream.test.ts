import { describe, expect, test } from 'vitest'
import { infoText } from '../../../../../server/command/server/info.ts'
import { silentLog } from '../../../../../server/log.ts'
import { infoFields, parseInfo } from '../../../../../web/console/model/info.ts'
import { readUpstream } from '../../../../../web/console/model/upstream.ts'
import { TestCore } from '../../../../support/test-core.ts'
import { SOME_FIGURES, SOME_LINKS, withUpstream } from '../../../../support/upstream-state.ts'

/** What the console reads of a server's own INFO. */
function read(core: TestCore): ReturnType<typeof readUpstream> {
  return readUpstream(infoFields(parseInfo(infoText(core, ['clients', 'stats', 'upstream']))))
}

describe('The upstream in the console', () => {
  test('is none where the server is alone', () => {
    expect(read(new TestCore())).toBeUndefined()
  })

  test('has the links, names, times, reconnects and gaps of INFO', () => {
    const shown = { links: SOME_LINKS, figures: SOME_FIGURES, problems: ['a: b', 'c'] }
    const upstream = 'redis://127.0.0.1'
    const core = new TestCore({ upstream }, silentLog(), undefined, withUpstream(shown))
    const seconds = Math.floor(core.clock.monotonicMs() / 1000)
    expect(read(core)).toEqual({
      address: 'redis://127.0.0.1',
      isReady: false,
      problems: ['a: b', 'c'],
      links: [
        { role: 'subscriber', address: '127.0.0.1:6379', isUp: true, seconds },
        { role: 'command', address: '[::1]:6379', isUp: false, seconds },
      ],
      wanted: 12_000,
      confirmed: 11_488,
      beaconMs: 0.42,
      publishMs: 0.45,
      inFlightBytes: 4_096,
      unwantedBytes: 1_234,
      reconnects: {
        total: 4,
        causes: [
          ['closed', 3],
          ['silent', 1],
        ],
      },
      gaps: {
        total: 5,
        causes: [
          ['closed', 3],
          ['moved', 2],
        ],
      },
      gapSeconds: 7.5,
    })
  })

  test('knows no times before the first beacon and publish', () => {
    const core = new TestCore({}, silentLog(), undefined, withUpstream())
    expect(read(core)).toMatchObject({
      isReady: true,
      beaconMs: undefined,
      publishMs: undefined,
      gaps: { total: 0, causes: [] },
    })
  })
})
