import { describe, expect, test } from 'vitest'
import { JwksCache } from '../../../../server/token/verify/jwks-cache.ts'
import { fetchText } from '../../../../server/token/verify/key-fetch.ts'
import type { Fetch } from '../../../../server/token/verify/key-fetch.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { jwks, makeKey, testAuthenticator, testIssuer, tokenBy } from '../../../support/tokens.ts'

const first = makeKey('ES256', 'first')
const second = makeKey('EdDSA', 'second')

const HOUR = 3_600_000

/** A key set over an endpoint that a test replaces at will. */
class Endpoint {
  readonly clock = new FakeClock()
  readonly failures: string[] = []
  readonly removed: string[] = []
  calls = 0
  answer: () => Promise<string> = () => Promise.resolve(jwks(first))
  readonly keys = new JwksCache(
    {
      load: () => {
        this.calls++
        return this.answer()
      },
    },
    this.clock,
    {
      failed: (detail) => this.failures.push(detail),
      removed: (ids) => this.removed.push(...ids),
    },
  )

  serve(text: string): void {
    this.answer = () => Promise.resolve(text)
  }

  fail(text = 'the answer has status 500'): void {
    this.answer = () => Promise.reject(new Error(text))
  }

  /** Lets time pass in steps of a second, with room for the promises in between. */
  async pass(ms: number, stepMs = 1000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left))
      await settle()
    }
  }

  async has(kid: string): Promise<boolean> {
    const key = kid === 'second' ? 'EdDSA' : 'ES256'
    return (await this.keys.candidates(key, kid)).length === 1
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

describe('a cached key set', () => {
  test('fetches once at start and serves from memory', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    for (let at = 0; at < 100; at++) expect(await endpoint.has('first')).toBe(true)
    expect(endpoint.calls).toBe(1)
    endpoint.keys.stop()
  })

  test('fetches in the background before anybody has to wait for it', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    await endpoint.pass(599_000)
    expect(endpoint.calls).toBe(1)
    endpoint.serve(jwks(first, second))
    await endpoint.pass(1000)
    expect(endpoint.calls).toBe(2)
    expect(await endpoint.has('second')).toBe(true)
    expect(endpoint.calls).toBe(2)
    endpoint.keys.stop()
  })

  test('has at most one fetch in flight, which all logins share', async () => {
    const endpoint = new Endpoint()
    let answer: (text: string) => void = () => undefined
    endpoint.answer = () => new Promise((resolve) => (answer = resolve))
    const logins = Array.from({ length: 50 }, () => endpoint.has('first'))
    await settle()
    answer(jwks(first))
    expect(await Promise.all(logins)).toEqual(Array(50).fill(true))
    expect(endpoint.calls).toBe(1)
    endpoint.keys.stop()
  })

  test('10,000 unknown key ids within a minute make at most two fetches', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    endpoint.calls = 0
    for (let at = 0; at < 10_000; at++) {
      endpoint.clock.advance(6)
      expect(await endpoint.has(`random-${at}`)).toBe(false)
    }
    expect(endpoint.calls).toBeGreaterThan(0)
    expect(endpoint.calls).toBeLessThanOrEqual(2)
    endpoint.keys.stop()
  })

  test('the same flood while the endpoint fails makes no more', async () => {
    const endpoint = new Endpoint()
    endpoint.fail()
    await endpoint.keys.start()
    endpoint.calls = 0
    for (let at = 0; at < 10_000; at++) {
      endpoint.clock.advance(6)
      await endpoint.has(`random-${at}`)
    }
    expect(endpoint.calls).toBeLessThanOrEqual(2)
    endpoint.keys.stop()
  })

  test('backs off to five minutes while the endpoint fails', async () => {
    const endpoint = new Endpoint()
    endpoint.fail()
    await endpoint.keys.start()
    const at: number[] = []
    for (let elapsed = 1; elapsed <= 1500; elapsed++) {
      const before = endpoint.calls
      await endpoint.pass(1000)
      if (endpoint.calls > before) at.push(elapsed)
    }
    expect(at).toEqual([30, 90, 210, 450, 750, 1050, 1350])
    endpoint.keys.stop()
  })

  test('finds a rotated key as soon as the cool-down is over', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    endpoint.serve(jwks(first, second))
    await endpoint.pass(29_999, 29_999)
    expect(await endpoint.has('second')).toBe(false)
    await endpoint.pass(1)
    expect(await endpoint.has('second')).toBe(true)
    expect(endpoint.calls).toBe(2)
    endpoint.keys.stop()
  })

  test('keeps the last good keys for 24 hours while the endpoint fails, and not longer', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    endpoint.fail()
    await endpoint.pass(24 * HOUR, 60_000)
    expect(await endpoint.has('first')).toBe(true)
    await endpoint.pass(1)
    expect(await endpoint.has('first')).toBe(false)
    endpoint.serve(jwks(first))
    await endpoint.pass(300_000, 10_000)
    expect(await endpoint.has('first')).toBe(true)
    endpoint.keys.stop()
  })

  test('recovers by itself after a failed start', async () => {
    const endpoint = new Endpoint()
    endpoint.fail('no route')
    await endpoint.keys.start()
    expect(endpoint.failures).toEqual(['no route'])
    endpoint.serve(jwks(first))
    await endpoint.pass(30_000)
    expect(await endpoint.has('first')).toBe(true)
    expect(endpoint.calls).toBe(2)
    endpoint.keys.stop()
  })

  test('tells why a fetch failed, not only that it did', async () => {
    const endpoint = new Endpoint()
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:9')
    endpoint.answer = () => Promise.reject(new TypeError('fetch failed', { cause }))
    await endpoint.keys.start()
    expect(endpoint.failures).toEqual(['fetch failed: connect ECONNREFUSED 127.0.0.1:9'])
    endpoint.keys.stop()
  })

  test.each([
    ['not JSON', '<html>', /not JSON/],
    ['no key set', '[]', /no array 'keys'/],
    ['keys of another kind', '{"keys":{}}', /no array 'keys'/],
    ['no keys', '{"keys":[]}', /no key that verifies/],
    ['101 keys', JSON.stringify({ keys: Array(101).fill(first.jwk) }), /101 keys, more than 100/],
  ])('keeps the last good keys if the answer is %s', async (_name, text, detail) => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    endpoint.serve(text)
    await endpoint.pass(600_000, 10_000)
    expect(endpoint.failures[0]).toMatch(detail)
    expect(await endpoint.has('first')).toBe(true)
    endpoint.keys.stop()
  })

  test('tells which keys were taken out, also one whose name stayed', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    const [key] = await endpoint.keys.candidates('ES256', 'first')
    endpoint.serve(jwks(makeKey('ES256', 'first')))
    expect(endpoint.keys.holds(key?.id ?? '')).toBe(true)
    await endpoint.pass(600_000, 10_000)
    expect(endpoint.removed).toEqual([key?.id])
    expect(endpoint.keys.holds(key?.id ?? '')).toBe(false)
    endpoint.keys.stop()
  })

  test('leaves no timer behind when stopped, and starts nothing', async () => {
    const endpoint = new Endpoint()
    await endpoint.keys.start()
    endpoint.keys.stop()
    expect(endpoint.clock.pendingTimers).toBe(0)
    await endpoint.pass(HOUR, 60_000)
    await endpoint.has('unknown')
    expect(endpoint.calls).toBe(1)
  })
})

describe('keys out of a key set', () => {
  const loaded = async (...keys: Readonly<Record<string, unknown>>[]): Promise<JwksCache> => {
    const endpoint = new Endpoint()
    endpoint.serve(jwks(first, ...keys))
    await endpoint.keys.start()
    endpoint.keys.stop()
    return endpoint.keys
  }
  const { kid: _kid, ...nameless } = second.jwk

  test.each([
    ['symmetric keys', { kty: 'oct', k: 'MDEyMzQ1Njc4OWFiY2RlZg', kid: 'second', alg: 'EdDSA' }],
    ['keys for encryption', { ...second.jwk, use: 'enc' }],
    ['keys for signing only', { ...second.jwk, key_ops: ['sign'] }],
    ['keys for another algorithm', { ...second.jwk, alg: 'ES256' }],
    ['keys of unknown types', { ...second.jwk, kty: 'XYZ' }],
    ['malformed keys', { ...second.jwk, x: '!' }],
    ['keys whose name is no text', { ...second.jwk, kid: 7 }],
    ['keys without a name, for a token that names one', nameless],
  ])('%s are not used', async (_name, key) => {
    expect(await (await loaded(key)).candidates('EdDSA', 'second')).toEqual([])
  })

  test('a token that names no key is tried with those of its algorithm, at most four', async () => {
    expect(await (await loaded(second.jwk)).candidates('EdDSA', undefined)).toHaveLength(1)
    const many = Array.from({ length: 10 }, () => makeKey('EdDSA', 'x').jwk)
    expect(await (await loaded(...many)).candidates('EdDSA', undefined)).toHaveLength(4)
  })

  test('a private part in a key set is not taken in', async () => {
    const jwk = { ...second.jwk, ...second.privateKey.export({ format: 'jwk' }) }
    expect(jwk).toHaveProperty('d')
    const [key] = await (await loaded(jwk)).candidates('EdDSA', 'second')
    expect(key?.for('EdDSA')).toHaveProperty('type', 'public')
  })

  test('algorithm names never reach HMAC', async () => {
    const keys = await loaded(second.jwk)
    for (const name of ['HS256', 'none', '__proto__', '']) {
      expect(await keys.candidates(name, undefined)).toEqual([])
    }
  })
})

describe('fetching a key set', () => {
  const bounds = { timeoutMs: 5000, maxBytes: 262_144 }
  const url = 'https://auth.example/keys'

  /** A body of `count` chunks of 64 KB that says how many were asked for. */
  function body(count: number): { stream: ReadableStream<Uint8Array>; pulled: () => number } {
    let pulled = 0
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (pulled === count) controller.close()
          else {
            pulled++
            controller.enqueue(new Uint8Array(65_536).fill(0x20))
          }
        },
      },
      { highWaterMark: 0 },
    )
    return { stream, pulled: () => pulled }
  }

  const get = (fetch: Fetch, clock = new FakeClock()): Promise<string> =>
    fetchText(fetch, url, bounds, clock)

  test('asks for the configured URL and lets nothing redirect it', async () => {
    const calls: unknown[] = []
    const text = await get((asked, { redirect }) => {
      calls.push([asked, redirect])
      return Promise.resolve(new Response('{}'))
    })
    expect(text).toBe('{}')
    expect(calls).toEqual([[url, 'error']])
  })

  test.each([204, 301, 302, 307, 404, 500])('status %i is a failure', async (status) => {
    const answer = { status, body: new Response('x').body }
    await expect(get(() => Promise.resolve(answer))).rejects.toThrow(`status ${status}`)
  })

  test('256 KB are read, and a 40 MB body is given up at the next chunk', async () => {
    const fits = body(4)
    expect(await get(() => Promise.resolve({ status: 200, body: fits.stream }))).toHaveLength(
      262_144,
    )
    const huge = body(640)
    await expect(get(() => Promise.resolve({ status: 200, body: huge.stream }))).rejects.toThrow(
      'longer than 262144 bytes',
    )
    expect(huge.pulled()).toBe(5)
  })

  test('a body that is not UTF-8 is a failure', async () => {
    const answer = new Response(Uint8Array.of(0x7b, 0xff, 0x7d))
    await expect(get(() => Promise.resolve(answer))).rejects.toThrow(/encod|UTF-8|valid/i)
  })

  test('an endpoint that never answers is given up after 5 seconds and told so', async () => {
    const clock = new FakeClock()
    let signal: AbortSignal | undefined
    const text = get((_url, init) => {
      signal = init.signal
      return new Promise(() => undefined)
    }, clock)
    const rejected = expect(text).rejects.toThrow('no whole answer within 5000 ms')
    clock.advance(4999)
    expect(signal?.aborted).toBe(false)
    clock.advance(1)
    expect(signal?.aborted).toBe(true)
    await rejected
    expect(clock.pendingTimers).toBe(0)
  })

  test('a body that hangs in the middle is given up after 5 seconds', async () => {
    const clock = new FakeClock()
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Uint8Array.of(0x7b)),
    })
    const text = get(() => Promise.resolve({ status: 200, body: stream }), clock)
    const rejected = expect(text).rejects.toThrow('no whole answer')
    await settle()
    clock.advance(5000)
    await rejected
  })

  test('a good answer leaves no timer behind', async () => {
    const clock = new FakeClock()
    await get(() => Promise.resolve(new Response('{}')), clock)
    expect(clock.pendingTimers).toBe(0)
  })
})

test('a whole login with keys behind a URL needs one fetch, and none for the next', async () => {
  let calls = 0
  const issuer = testIssuer({
    keys: { kind: 'jwks-url', url: 'https://auth.example/keys' },
    algorithms: ['ES256'],
  })
  const { authenticator, clock } = testAuthenticator({
    issuers: [issuer],
    fetch: () => {
      calls++
      return Promise.resolve(new Response(jwks(first)))
    },
  })
  await authenticator.issuers.start()
  expect(await authenticator.authenticate(tokenBy(first))).toHaveProperty('ok.kid', 'first')
  expect(await authenticator.authenticate(tokenBy(first))).toHaveProperty('ok.kid', 'first')
  expect(await authenticator.authenticate(tokenBy(makeKey('ES256', 'x')))).toHaveProperty('refused')
  expect(calls).toBe(1)
  authenticator.issuers.stop()
  expect(clock.pendingTimers).toBe(0)
})

describe('An outage of the key server', () => {
  function withServer() {
    const server = { isUp: false }
    const issuer = testIssuer({
      keys: { kind: 'jwks-url', url: 'https://auth.example/keys' },
      algorithms: ['ES256'],
    })
    const { authenticator, clock } = testAuthenticator({
      issuers: [issuer],
      fetch: () => {
        const status = server.isUp ? 200 : 503
        return Promise.resolve(new Response(server.isUp ? jwks(first) : '', { status }))
      },
    })
    return { server, authenticator, clock }
  }

  test('at the start is no fault of a token, and is told until it is over', async () => {
    const { server, authenticator, clock } = withServer()
    expect(authenticator.issuers.problems).toEqual([
      'no keys of the issuer default: not loaded yet',
    ])
    await authenticator.issuers.start()
    expect(await authenticator.authenticate(tokenBy(first))).toMatchObject({
      refused: {
        code: 'keys-unavailable',
        reply: 'TRYAGAIN the keys of the issuer cannot be loaded now',
        detail: expect.stringMatching(/cannot be loaded: .*503/) as string,
      },
    })
    expect(authenticator.issuers.problems).toMatchObject([
      expect.stringMatching(/^no keys of the issuer default: .*503/),
    ])
    server.isUp = true
    clock.advance(30_000)
    await settle()
    expect(await authenticator.authenticate(tokenBy(first))).toHaveProperty('ok.kid', 'first')
    expect(authenticator.issuers.problems).toEqual([])
  })

  test('later leaves known keys in force; of one that is new nobody knows whether it is good', async () => {
    const { server, authenticator, clock } = withServer()
    server.isUp = true
    await authenticator.issuers.start()
    const stranger = tokenBy(makeKey('ES256', 'x'))
    expect(await authenticator.authenticate(stranger)).toHaveProperty('refused.code', 'unknown-key')
    server.isUp = false
    clock.advance(600_000)
    await settle()
    expect(authenticator.issuers.problems).toEqual([])
    expect(await authenticator.authenticate(tokenBy(first))).toHaveProperty('ok')
    expect(await authenticator.authenticate(stranger)).toHaveProperty(
      'refused.code',
      'keys-unavailable',
    )
  })
})
