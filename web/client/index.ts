import { RespcastClient } from './client.ts'
import { browserEnvironment } from './browser-environment.ts'
import type { Environment } from './environment.ts'
import { settingsOf } from './options.ts'
import type { ConnectOptions } from './options.ts'

/**
 * Connects to a Respcast server, and stays connected until `close()`.
 *
 * @param url `wss://host/ws`. A token never belongs in it.
 * @param environment Sockets, time and chance; a page leaves it out.
 *
 * @example
 * const client = connect('wss://example.test/ws', { token: () => fetchToken() })
 * client.subscribe('news', (message) => show(message.text()))
 * await client.publish('news', 'hello')
 */
export function connect(
  url: string,
  options: ConnectOptions = {},
  environment: Environment = browserEnvironment,
): RespcastClient {
  return new RespcastClient(url, settingsOf(options), environment)
}

export type { RespcastClient } from './client.ts'
export type {
  ClientClock,
  ClientSocket,
  ClientTimer,
  Environment,
  SocketListener,
} from './environment.ts'
export { RespcastError, SignedOutError } from './errors.ts'
export type { RespcastErrorCode } from './errors.ts'
export type { ConnectOptions, ReconnectOptions } from './options.ts'
export type { TokenProvider, TokenReason } from './token-source.ts'
export type * from './types.ts'
export type * from '../../shared/resp/types.ts'
