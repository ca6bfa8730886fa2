import type { Client } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import { describeClient } from '../client/describe.ts'
import type { Clock } from '../clock.ts'
import type { Counters } from '../command/counters.ts'
import type { Config } from '../config/store.ts'
import type { Logger } from '../log.ts'
import { ClientEviction } from '../client/eviction.ts'
import { OutputGuard } from './output-guard.ts'

/** What guards are built with. */
export interface GuardParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly clients: ClientTable
  readonly counters: Counters
}

/** Makes what closes clients that do not read, under its directives. */
export function createGuard({ config, clock, log, clients, counters }: GuardParts): OutputGuard {
  const shownClient = clientForLog(config, clock)
  return new OutputGuard({
    limit: (name) => config.bufferLimits()[name],
    idleSeconds: () => config.seconds('timeout'),
    clients,
    clock,
    onExceeded: (client, bound) => {
      counters.outputLimitDisconnections++
      log.warn(
        { client: shownClient(client), bound },
        'client closed for overcoming of output buffer limits',
      )
    },
  })
}

/** Makes what closes the biggest clients, under its directives. */
export function createEviction({
  config,
  clock,
  log,
  clients,
  counters,
}: GuardParts): ClientEviction {
  const shownClient = clientForLog(config, clock)
  const eviction = new ClientEviction({
    limitBytes: () => config.memoryOrPercent('maxmemory-clients'),
    clients,
    clock,
    onEvict: (client) => {
      counters.evictedClients++
      log.info({ client: shownClient(client) }, 'evicting client')
    },
  })
  config.onChange(['maxmemory-clients', 'maxmemory'], () => {
    eviction.applyLimit()
    return undefined
  })
  return eviction
}

/** How the log names a client: its line of CLIENT LIST, or no more than its id and address. */
function clientForLog(config: Config, clock: Clock): (client: Client) => string {
  return (client) =>
    config.boolean('hide-user-data-from-log')
      ? `id=${client.id} addr=${client.origin.address}`
      : describeClient(client, clock.monotonicMs())
}
