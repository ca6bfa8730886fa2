import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import type { TestGateway } from '../support/server.ts'
import { describeInChromium } from './chromium.ts'
import { ADMIN } from './console-page.ts'

const LIBRARY = new URL('../../dist/client/client.js', import.meta.url)

/** Runs the body of an async function in the page, with `Respcast` as the built client library. */
async function run(page: Page, body: string): Promise<unknown> {
  return page.evaluate(`import('/client/client.js').then(async (Respcast) => { ${body} })`)
}

describeInChromium('the built client library in Chromium', (browser) => {
  let server: TestGateway
  let page: Page

  beforeAll(async () => {
    server = await startServer({ directives: { user: [[...ADMIN]] } })
    page = await browser().newPage()
    await page.goto(server.url)
  })

  afterAll(async () => {
    await page?.close()
    await server?.stop()
  })

  test('logs in, subscribes, publishes, and hears itself', async () => {
    const token = await server.mint('42', { channels: ['room:*'] })
    const seen = await run(
      page,
      `const client = Respcast.connect('${server.wsUrl}', { token: '${token}' })
       const messages = []
       const heard = new Promise((resolve) => client.subscribe(new Uint8Array([114, 111, 111, 109, 58, 255]), (message) => {
         messages.push([...message.channelBytes], message.text())
         resolve()
       }).ready.then(async () => {
         messages.push(await client.publish(new Uint8Array([114, 111, 111, 109, 58, 255]), 'grüße'))
       }))
       await heard
       await client.call('PING')
       const { user } = client.identity
       client.close()
       return { user, messages, status: client.state.status }`,
    )
    expect(seen).toEqual({
      user: 'jwt:42',
      messages: expect.arrayContaining([[114, 111, 111, 109, 58, 255], 'grüße', 1]),
      status: 'closed',
    })
  })

  test('sends a token over 4 KB in-band, and replaces one that ends without losing the connection', async () => {
    const claims = { note: 'x'.repeat(4096) }
    const tokens = [
      await server.mint('43', { channels: ['a'] }, { claims, lifetimeSeconds: 3 }),
      await server.mint('43', { channels: ['a', 'b'] }, { claims }),
    ]
    const seen = await run(
      page,
      `const tokens = ${JSON.stringify(tokens)}
       const reasons = []
       const states = []
       const client = Respcast.connect('${server.wsUrl}', {
         token: ({ reason }) => {
           reasons.push(reason)
           return tokens[reasons.length - 1]
         },
       })
       client.on('state', ({ status }) => states.push(status))
       await client.subscribe('a', () => {}).ready
       const refused = await client.subscribe('b', () => {}).ready.catch((error) => [error.code, error.prefix])
       await new Promise((resolve) => client.on('accepted', resolve))
       await client.subscribe('b', () => {}).ready
       client.close()
       return { asked: reasons.length, states, refused }`,
    )
    expect(seen).toEqual({
      asked: 2,
      states: ['authenticating', 'online', 'closed'],
      refused: ['ERR_DENIED', 'NOPERM'],
    })
  })

  test("logs in by password on the administrators' listener, again after a loss, and stops at a wrong one", async () => {
    const admin = await browser().newPage()
    // That listener serves the console alone: the library comes from the disk.
    await admin.route('**/client/client.js', async (route) => {
      await route.fulfill({ body: await readFile(LIBRARY, 'utf8'), contentType: 'text/javascript' })
    })
    await admin.goto(`http://127.0.0.1:${server.adminPort}/`)
    const seen = await run(
      admin,
      `const url = 'ws://127.0.0.1:${server.adminPort}/ws'
       const client = Respcast.connect(url, {
         login: { user: 'admin', password: 'secret' }, reconnect: { baseMs: 50, maxMs: 200 },
       })
       const states = []
       client.on('state', ({ status }) => states.push(status))
       const who = async () => new TextDecoder().decode(await client.call('ACL', 'WHOAMI'))
       const until = (other, status) => new Promise((resolve) => {
         const end = other.on('state', (state) => {
           if (state.status !== status) return
           end()
           resolve(state)
         })
       })
       await until(client, 'online')
       const users = [await who()]
       const again = until(client, 'waiting').then(() => until(client, 'online'))
       client.call('CLIENT', 'KILL', 'USER', 'admin', 'SKIPME', 'no').catch(() => {})
       await again
       users.push(await who())
       client.close()
       const other = Respcast.connect(url, { login: { user: 'admin', password: 'guess' } })
       const ready = other.subscribe('news', () => {}).ready.catch(({ code, prefix }) => [code, prefix])
       const { cause } = await until(other, 'denied')
       const refused = await ready
       return { users, identity: client.identity.user, states, cause, refused }`,
    )
    await admin.close()
    expect(seen).toEqual({
      users: ['admin', 'admin'],
      identity: 'admin',
      states: [
        'authenticating',
        'online',
        'waiting',
        'connecting',
        'authenticating',
        'online',
        'closed',
      ],
      cause: {
        code: undefined,
        name: 'wrong-password',
        text: expect.stringContaining('WRONGPASS'),
        prefix: 'WRONGPASS',
      },
      refused: ['ERR_DENIED', 'WRONGPASS'],
    })
  })

  test('stops when its token has ended and there is no other', async () => {
    await server.stop()
    server = await startServer({ directives: { 'token-expiry-grace': '0' } })
    await page.goto(server.url)
    const token = await server.mint('44', { channels: ['a'] }, { lifetimeSeconds: 1 })
    const seen = await run(
      page,
      `const client = Respcast.connect('${server.wsUrl}', { token: '${token}' })
       return new Promise((resolve) => client.on('state', (state) => {
         if (state.status === 'denied') resolve(state.cause)
       }))`,
    )
    expect(seen).toEqual({ code: 4401, name: 'unauthorized', text: 'token expired' })
  })
})
