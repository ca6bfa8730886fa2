import { describe, expect, test } from 'vitest'
import { SignedOutError } from '../../../../web/client/errors.ts'
import { subjectOf } from '../../../../web/client/token-source.ts'
import { FakeServer, record, settle } from './support/fake-server.ts'

describe('a token provider', () => {
  test('is not asked again for a mere loss of network', async () => {
    const server = new FakeServer()
    let calls = 0
    server.client({ token: () => `token-${++calls}` })
    await server.online()
    await server.socket.end()
    await server.pass(0)
    await server.online()
    expect(calls).toBe(1)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-1'])
  })

  test('is asked again for a connection after the end of the token', async () => {
    const server = new FakeServer()
    let calls = 0
    server.client({ token: () => `token-${++calls}` })
    await server.online('jwt:42', 1000)
    await server.pass(1000)
    await server.socket.end()
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-2'])
  })

  test('that fails is tried again later', async () => {
    const server = new FakeServer()
    const answers = [() => Promise.reject(new Error('offline')), () => Promise.resolve('')]
    const client = server.client({ token: () => answers.shift()?.() ?? 'a.b.c' })
    const errors = record(client, 'error')
    await settle()
    expect(client.state).toMatchObject({
      status: 'waiting',
      cause: { name: 'token-failed', text: 'offline' },
    })
    await server.pass(0)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'token-failed' } })
    await server.pass(0)
    await server.online()
    expect(client.state.status).toBe('online')
    expect(errors).toHaveLength(2)
  })

  test('that knows nobody is signed in stops the client', async () => {
    const server = new FakeServer()
    const client = server.client({
      token: () => Promise.reject(new SignedOutError('sign in first')),
    })
    await settle()
    expect(client.state).toMatchObject({
      status: 'denied',
      cause: { name: 'signed-out', text: 'sign in first' },
    })
    expect(server.sockets).toHaveLength(0)
  })

  test('that answers after the client was closed opens nothing', async () => {
    const server = new FakeServer()
    const answers: ((token: string) => void)[] = []
    const client = server.client({ token: () => new Promise((resolve) => answers.push(resolve)) })
    client.close()
    answers[0]?.('a.b.c')
    await settle()
    expect(answers).toHaveLength(1)
    expect(server.sockets).toHaveLength(0)
    expect(client.state).toMatchObject({ status: 'closed' })
  })
})

describe('the subject of a token', () => {
  const encode = (payload: unknown): string =>
    `h.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.s`

  test('is its issuer and its sub, whatever else it says', () => {
    expect(subjectOf(encode({ iss: 'i', sub: 'ü', exp: 1 }))).toBe('["i","ü"]')
    expect(subjectOf(encode({ iss: 'i', sub: 'ü', exp: 2, x: '?>?>' }))).toBe('["i","ü"]')
    expect(subjectOf(encode({ iss: 'i', sub: 'u' }))).not.toBe(
      subjectOf(encode({ iss: 'i', sub: 'v' })),
    )
  })

  test('is empty for what is not a JWT', () => {
    expect(subjectOf('secret')).toBe('')
    expect(subjectOf('a.%%%.c')).toBe('')
    expect(subjectOf(undefined)).toBe('')
  })
})
