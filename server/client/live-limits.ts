import type { ClientLimits } from './limits.ts'
import type { Config } from '../config/store.ts'
import type { Settings } from '../config/settings.ts'
import type { RequestLimits } from '../resp/request-parser.ts'

/** No browser needs longer names, or more of them at once. */
const WEBSOCKET_CHANNEL_BYTES = 256
const WEBSOCKET_NAMES_PER_COMMAND = 64

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Limits that connections share and CONFIG SET changes under them. */
export interface LiveLimits {
  readonly tcpRequests: RequestLimits
  readonly webSocketRequests: RequestLimits
  readonly tcpClients: ClientLimits
  readonly webSocketClients: ClientLimits
}

/** Reads the limits from the configuration, and again at each change. */
export function liveLimits(config: Config): LiveLimits {
  const tcpRequests = {} as Mutable<RequestLimits>
  const webSocketRequests = {} as Mutable<RequestLimits>
  const tcpClients = {} as Mutable<ClientLimits>
  const webSocketClients = {} as Mutable<ClientLimits>
  const read = (settings: Settings): void => {
    tcpRequests.maxBulkBytes = settings.memory('proto-max-bulk-len')
    tcpRequests.maxArguments = 2_147_483_647
    tcpRequests.maxCommandBytes = Number.POSITIVE_INFINITY
    webSocketRequests.maxBulkBytes = tcpRequests.maxBulkBytes
    webSocketRequests.maxArguments = settings.integer('ws-max-arguments')
    webSocketRequests.maxCommandBytes = settings.memory('ws-max-payload')

    tcpClients.maxSubscriptions = orNone(settings.integer('tcp-max-subscriptions'))
    tcpClients.maxPatterns = orNone(settings.integer('tcp-max-patterns'))
    tcpClients.maxChannelBytes = orNone(settings.memory('tcp-max-channel-length'))
    tcpClients.maxPatternBytes = orNone(settings.memory('tcp-max-pattern-length'))
    tcpClients.maxNamesPerCommand = Number.POSITIVE_INFINITY
    tcpClients.maxMessageBytes = Number.POSITIVE_INFINITY
    tcpClients.unlimited = isUnlimited(tcpClients)

    webSocketClients.maxSubscriptions = orNone(settings.integer('ws-max-subscriptions'))
    webSocketClients.maxPatterns = orNone(settings.integer('ws-max-patterns'))
    webSocketClients.maxChannelBytes = WEBSOCKET_CHANNEL_BYTES
    webSocketClients.maxPatternBytes = orNone(settings.memory('ws-max-pattern-length'))
    webSocketClients.maxNamesPerCommand = WEBSOCKET_NAMES_PER_COMMAND
    webSocketClients.maxMessageBytes = orNone(settings.memory('ws-max-message-out'))
    webSocketClients.unlimited = false
  }
  read(config)
  config.onChange(
    [
      'proto-max-bulk-len',
      'ws-max-arguments',
      'ws-max-payload',
      'tcp-max-subscriptions',
      'tcp-max-patterns',
      'tcp-max-channel-length',
      'tcp-max-pattern-length',
      'ws-max-subscriptions',
      'ws-max-patterns',
      'ws-max-pattern-length',
      'ws-max-message-out',
    ],
    (settings) => {
      read(settings)
      return undefined
    },
  )
  return { tcpRequests, webSocketRequests, tcpClients, webSocketClients }
}

function isUnlimited(limits: ClientLimits): boolean {
  const { maxSubscriptions, maxPatterns, maxChannelBytes, maxPatternBytes } = limits
  return Math.min(maxSubscriptions, maxPatterns, maxChannelBytes, maxPatternBytes) === Infinity
}

/** In the directives 0 stands for no limit. */
function orNone(limit: number): number {
  return limit === 0 ? Number.POSITIVE_INFINITY : limit
}
