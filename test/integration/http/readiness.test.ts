import { describe, expect, test } from 'vitest'
import { opener } from '../../support/opened.ts'
import { withUpstream } from '../../support/upstream-state.ts'

const open = opener()

describe('/readyz', () => {
  test('is 503 with the reasons while the upstream is not ready, and 200 again once it is', async () => {
    const { core, adminPort } = await open.server()
    const upstream = (problems: readonly string[]): void => {
      Object.assign(core, { backplane: withUpstream({ problems })(core.registry) })
    }
    const ready = async (): Promise<unknown> => {
      const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`)
      return [response.status, await response.json()]
    }
    upstream(['the upstream 127.0.0.1:6379 cannot be reached (ECONNREFUSED)', 'another "reason"'])
    expect(await ready()).toEqual([
      503,
      {
        status: 'not ready',
        problems: [
          'the upstream 127.0.0.1:6379 cannot be reached (ECONNREFUSED)',
          'another "reason"',
        ],
      },
    ])
    upstream([])
    expect(await ready()).toEqual([200, { status: 'ready', problems: [] }])
  })
})
