import type { Settings } from '../config/settings.ts'
import type { RequestLimits } from '../resp/request-parser.ts'

/** Limits on the subscriptions of one transport's clients. Infinity is no limit. */
export interface ClientLimits {
  /** Work before the other connections get their turn, in microseconds. */
  readonly turnBudget: number
  /** Commands between MULTI and EXEC. */
  readonly maxQueuedCommands: number
  /** None of the limits on subscriptions below is set. */
  readonly unlimited: boolean
  /** Channels and shard channels of one client. */
  readonly maxSubscriptions: number
  readonly maxPatterns: number
  /** Distinct patterns that metered subscribers alone hold, all of them together. */
  readonly maxMeteredPatterns: number
  /** Bytes of a channel's name. */
  readonly maxChannelBytes: number
  readonly maxPatternBytes: number
  /** Bytes of the names that a client gives itself or its library, and of a prefix of CLIENT TRACKING. */
  readonly maxClientNameBytes: number
  /** Names in one command of the SUBSCRIBE family. */
  readonly maxNamesPerCommand: number
  /** Largest payload that is delivered. */
  readonly maxMessageBytes: number
}

/** Limits on the requests of a connection. */
interface ConnectionLimits {
  /** `client-query-buffer-limit`. */
  readonly queryBufferBytes: number
  /** Rates of a WebSocket; 0 is no limit. */
  readonly commandsPerSecond: number
  readonly publishesPerSecond: number
  readonly subscriptionsPerSecond: number
  readonly inputBytesPerSecond: number
  /** Some rate is limited. */
  readonly anyRate: boolean
}

/** Limits of connections and clients by transport: one object for each, which changes with the settings. */
export interface TransportLimits {
  /** Limits that hold for every transport. */
  readonly connections: ConnectionLimits
  readonly tcpRequests: RequestLimits
  readonly webSocketRequests: RequestLimits
  readonly tcpClients: ClientLimits
  readonly webSocketClients: ClientLimits
}

/** No browser needs longer names, or more of them at once. */
const WEBSOCKET_CHANNEL_BYTES = 256
const WEBSOCKET_CLIENT_NAME_BYTES = 256
const WEBSOCKET_NAMES_PER_COMMAND = 64

/** Redis' bound on the arguments of one command. */
const MOST_ARGUMENTS = 2_147_483_647

/** The limits of each transport, kept up to date by {@link Settings.cached}. */
export function transportLimits(settings: Settings): TransportLimits {
  return {
    connections: settings.cached((now) => {
      const rates = {
        commandsPerSecond: now.integer('ws-command-rate'),
        publishesPerSecond: now.integer('ws-publish-rate'),
        subscriptionsPerSecond: now.integer('ws-subscription-rate'),
        inputBytesPerSecond: now.memory('ws-input-rate'),
      }
      return {
        ...rates,
        anyRate: Object.values(rates).some((rate) => rate > 0),
        queryBufferBytes: now.memory('client-query-buffer-limit'),
      }
    }),
    tcpRequests: settings.cached((now) => ({
      maxBulkBytes: now.memory('proto-max-bulk-len'),
      maxArguments: MOST_ARGUMENTS,
      maxCommandBytes: Number.POSITIVE_INFINITY,
    })),
    webSocketRequests: settings.cached((now) => ({
      maxBulkBytes: now.memory('proto-max-bulk-len'),
      maxArguments: now.integer('ws-max-arguments'),
      maxCommandBytes: now.memory('ws-max-payload'),
    })),
    tcpClients: settings.cached((now) => {
      const limits = {
        maxSubscriptions: now.limit('tcp-max-subscriptions'),
        maxPatterns: now.limit('tcp-max-patterns'),
        maxMeteredPatterns: Number.POSITIVE_INFINITY,
        maxChannelBytes: now.limit('tcp-max-channel-length'),
        maxPatternBytes: now.limit('tcp-max-pattern-length'),
        maxClientNameBytes: Number.POSITIVE_INFINITY,
        maxNamesPerCommand: Number.POSITIVE_INFINITY,
        maxMessageBytes: Number.POSITIVE_INFINITY,
      }
      return {
        ...limits,
        turnBudget: now.limit('tcp-turn-budget'),
        maxQueuedCommands: now.limit('tcp-max-queued-commands'),
        unlimited: Object.values(limits).every((limit) => limit === Infinity),
      }
    }),
    webSocketClients: settings.cached((now) => ({
      turnBudget: now.limit('ws-turn-budget'),
      maxQueuedCommands: now.limit('ws-max-queued-commands'),
      maxSubscriptions: now.limit('ws-max-subscriptions'),
      maxPatterns: now.limit('ws-max-patterns'),
      maxMeteredPatterns: now.limit('ws-max-distinct-patterns'),
      maxChannelBytes: WEBSOCKET_CHANNEL_BYTES,
      maxPatternBytes: now.limit('ws-max-pattern-length'),
      maxClientNameBytes: WEBSOCKET_CLIENT_NAME_BYTES,
      maxNamesPerCommand: WEBSOCKET_NAMES_PER_COMMAND,
      maxMessageBytes: now.limit('ws-max-message-out'),
      unlimited: false,
    })),
  }
}
