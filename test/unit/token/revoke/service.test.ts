import { describe, expect, test, vi } from 'vitest'
import { tokenFor } from '../../../support/tokens.ts'
import { login, revocable } from './support.ts'

const SESSIONS = 150

describe('A revocation that hits very many sessions', () => {
  test('cuts them in slices, lets others in between, and answers when all are gone', async () => {
    const { server, admin, session, token } = revocable()
    const clients = await Promise.all(Array.from({ length: SESSIONS }, () => session({})))
    const last = clients.at(-1) as (typeof clients)[number]
    let nowMs = 0
    // Each look at the clock finds that a slice is over.
    vi.spyOn(server.clock, 'monotonicMs').mockImplementation(() => (nowMs += 10))
    let answer = ''
    const done = token('REVOKE SUB 42').then((text) => (answer = text))
    expect(server.tokens.size).toBe(SESSIONS - 63)
    expect(admin.client.closed).toBe(false)

    // Nobody that it names comes in meanwhile, and whoever leaves the subject is spared.
    const late = server.connect()
    expect(await login(late, tokenFor({}))).toBe('-WRONGPASS token revoked\r\n')
    last.send('RESET')
    expect(await login(last, tokenFor({}, { sub: '43' }))).toMatch(/^\+OK\r\n/)
    expect(answer).toBe('')

    vi.restoreAllMocks()
    server.clock.advance(1)
    await done
    expect(answer).toBe(`:${SESSIONS}\r\n`)
    expect(server.tokens.size).toBe(1)
    expect(last.client.closed).toBe(false)
  })
})

describe('The problems that /readyz reports', () => {
  test('are none until a log fails', () => {
    const { server } = revocable()
    expect(server.tokens.revocation.problems).toEqual([])
    vi.spyOn(server.tokens.revocations, 'problem', 'get').mockReturnValue('broken')
    expect(server.tokens.revocation.problems).toEqual(['broken'])
  })
})
