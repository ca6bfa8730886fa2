import { RespcastClient } from './client.ts'
import type { AnyCodec } from './codec.ts'
import { environmentOf } from './browser-environment.ts'
import type { Environment } from './environment.ts'
import { loadFallback } from './fallback/load-fallback.ts'
import { loadTabs } from './tabs/load-tabs.ts'
import { settingsOf } from './options.ts'
import type { ConnectOptions } from './options.ts'

/**
 * Connects to a Respcast server, and reconnects until `close()`.
 *
 * @param url `wss://host/ws`; in a page also `/ws`. A token never belongs in it.
 * @param environment Sockets, time and chance, for tests.
 * @throws {SetupError} Where there is no WebSocket, or the address cannot be that of one.
 * @throws {TypeError} For options that are not what {@link ConnectOptions} says.
 *
 * @example
 * const client = connect('wss://example.test/ws', { token: () => fetchToken() })
 * client.subscribe('news', (message) => show(message.text()))
 * await client.publish('news', 'hello')
 */
export function connect(
  url: string,
  options?: ConnectOptions & { readonly codec?: 'bytes' },
  environment?: Environment,
): RespcastClient
export function connect(
  url: string,
  options: ConnectOptions & { readonly codec: 'text' },
  environment?: Environment,
): RespcastClient<Record<string, string>>
export function connect(
  url: string,
  options: ConnectOptions & { readonly codec: 'json' | AnyCodec },
  environment?: Environment,
): RespcastClient<Record<string, unknown>>
export function connect<Channels extends object>(
  url: string,
  options?: ConnectOptions,
  environment?: Environment,
): RespcastClient<Channels>
export function connect(
  url: string,
  options: ConnectOptions = {},
  environment: Environment = {
    ...environmentOf(options.WebSocket),
    shareTabs: loadTabs,
    fallBack: loadFallback,
  },
): unknown {
  const settings = settingsOf(options)
  environment.checkAddress?.(url)
  return new RespcastClient(url, settings, environment)
}

export type { ChannelMap, DataIn, NameIn, PatternDataIn, Publishable } from './channels.ts'
export type { RespcastClient } from './client.ts'
export type { AnyCodec, Codec, CodecName, DataOf } from './codec.ts'
export type {
  ClientClock,
  ClientSocket,
  ClientTimer,
  Environment,
  OpenSocket,
  SocketListener,
} from './environment.ts'
export {
  ClosedError,
  ConnectionError,
  DecodeError,
  DeniedError,
  LimitError,
  OverflowError,
  ReplyError,
  RespcastError,
  SetupError,
  SignedOutError,
} from './errors.ts'
export type { RespcastErrorCode } from './errors.ts'
export type { BufferOptions, OverflowPolicy } from './message-buffer.ts'
export type {
  CommonOptions,
  ConnectOptions,
  Login,
  LoginOptions,
  ReconnectOptions,
  TokenOptions,
  WebSocketConstructor,
  WebSocketLike,
} from './options.ts'
export type { SubscribeOptions } from './subscriber.ts'
export type { TokenProvider, TokenReason } from './token-source.ts'
export type * from './types.ts'
export type * from '../../shared/resp/types.ts'
