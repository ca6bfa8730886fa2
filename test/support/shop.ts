import { join } from 'node:path'
import { systemClock } from '../../server/clock.ts'
import { mintToken, type TokenRequest } from '../../server/token/mint.ts'
import type { RawClient, RawWebSocket } from './resp-client.ts'
import type { TestGateway } from './server.ts'
import { DEFAULT_USER, type Opener } from './opened.ts'
import { folderWith } from './folder.ts'

/** The `iss` of the issuer `shop`. */
export const SHOP = 'https://shop.test'
/** The secret that it signs with. */
export const SHOP_SECRET = 'the-secret-of-the-shop-is-long-enough'
/** The close of a session whose issuer or key is no longer trusted. */
export const ISSUER_GONE = { code: 4403, reason: 'revoked||the issuer of the token was changed' }

/** The lines of the issuer `shop`, each without the word `issuer`. */
export function shopLines(folder: string, ...more: string[][]): string[][] {
  return [
    ['shop', 'issuer', SHOP],
    ['shop', 'audience', 'shop'],
    ['shop', 'secret-file', join(folder, 'secret')],
    ...more,
  ]
}

/** A token of `shop`. */
export function fromShop(
  sub: string,
  grants: TokenRequest['grants'],
  secret = SHOP_SECRET,
  more: Partial<TokenRequest> = {},
): Promise<string> {
  const request = { iss: SHOP, aud: 'shop', sub, claim: 'respcast', lifetimeSeconds: 600 }
  return mintToken(Buffer.from(secret), { ...request, grants, ...more }, systemClock)
}

/** A server with the issuer `shop`, the folder of its secret, and an administrator's connection. */
export async function shopServer(
  open: Opener,
  more: string[][] = [],
  users: string[][] = [],
): Promise<{ server: TestGateway; folder: string; admin: RawClient }> {
  const folder = folderWith({ secret: SHOP_SECRET })
  const server = await open.server({
    directives: { issuer: shopLines(folder, ...more), user: [DEFAULT_USER, ...users] },
  })
  return { server, folder, admin: await open.tcp(server, 3) }
}

/** A WebSocket that is logged in with a token of `shop`; its `accepted` push is taken. */
export async function shopSession(
  open: Opener,
  server: TestGateway,
  sub: string,
  grants: TokenRequest['grants'],
): Promise<RawWebSocket> {
  const client = await open.webSocket(server, { token: await fromShop(sub, grants) })
  await client.takeAccepted(`jwt@shop:${sub}`)
  return client
}

/** All issuer lines as CONFIG SET takes them. */
export const joined = (lines: readonly (readonly string[])[]): string =>
  lines.map((words) => words.join(' ')).join('\n')
