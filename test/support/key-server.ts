import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jwks, makeKey, tokenBy, type TestKey } from './tokens.ts'
import { TEST_AUDIENCE, TEST_ISSUER, type TestGateway } from './server.ts'
import { FakeClock } from './fake-clock.ts'
import type { Opener } from './opened.ts'
import { eventually } from './opened.ts'

/**
 * An issuer whose keys are at a URL that answers only when a test wants it to. A token of a key that the server does
 * not know yet is being verified for as long as the answer is held back.
 */
export interface SlowIssuer {
  readonly server: TestGateway
  readonly clock: FakeClock
  /** A token signed by the key that the server knows from its start. */
  known(sub: string, grants: object): string
  /** A token signed by a key that the server has to fetch first. */
  unknown(sub: string, grants: object): string
  /** Waits until the server asks for the keys. */
  asked(): Promise<void>
  /** Answers with these keys; the default is both. */
  answer(keys?: 'both' | 'known' | 'unknown'): void
}

/** Starts a server with such an issuer. */
export async function slowIssuer(
  open: Opener,
  directives: Record<string, string | readonly (readonly string[])[]> = {},
): Promise<SlowIssuer> {
  const keys = { known: makeKey('ES256', 'known'), unknown: makeKey('ES256', 'unknown') }
  let waiting: ServerResponse | undefined
  let isFirst = true
  const keyServer = createServer((_request, response) => {
    if (!isFirst) {
      waiting = response
      return
    }
    isFirst = false
    response.end(jwks(keys.known))
  })
  await new Promise<void>((resolve) => void keyServer.listen(0, '127.0.0.1', resolve))
  open.onEnd(() => {
    keyServer.closeAllConnections()
    keyServer.close()
  })
  const { port } = keyServer.address() as AddressInfo
  const clock = new FakeClock(Date.now())
  const server = await open.server({
    clock,
    issuer: false,
    directives: {
      'ws-ping-interval': '0',
      'jwt-issuer': TEST_ISSUER,
      'jwt-audience': TEST_AUDIENCE,
      'jwt-algorithms': 'ES256',
      'jwt-jwks-url': `http://127.0.0.1:${port}/keys`,
      'jwt-jwks-cooldown': '1',
      ...directives,
    },
  })
  const nowSeconds = Math.floor(clock.wallMs() / 1000)
  const tokenOf = (key: TestKey) => (sub: string, respcast: object) => {
    const times = { iat: nowSeconds, exp: nowSeconds + 3600 }
    return tokenBy(key, { iss: TEST_ISSUER, aud: TEST_AUDIENCE, sub, respcast, ...times })
  }
  clock.advance(1_000)
  return {
    server,
    clock,
    known: tokenOf(keys.known),
    unknown: tokenOf(keys.unknown),
    asked: () => eventually('the keys are asked for', () => waiting !== undefined),
    answer: (which = 'both') => {
      const chosen = which === 'both' ? Object.values(keys) : [keys[which]]
      waiting?.end(jwks(...chosen))
      waiting = undefined
    },
  }
}
