import { describeUser } from './acl/describe.ts'
import { usersOfConfig } from './acl/file.ts'
import { AclLog } from './acl/log.ts'
import { UserTable } from './acl/users.ts'
import type { Client } from './client/client.ts'
import { ClientTable } from './client/clients.ts'
import { describeClient } from './client/describe.ts'
import { ArenaPool } from './delivery/arenas.ts'
import { Flusher } from './delivery/flusher.ts'
import { Turn } from './delivery/turn.ts'
import { applyUserChanges } from './client/lost-subscriptions.ts'
import type { Clock } from './clock.ts'
import { ALL_COMMANDS } from './command/commands.ts'
import type { Services } from './command/context.ts'
import { Counters } from './command/counters.ts'
import { Dispatcher } from './command/dispatch.ts'
import { LoadSampler } from './command/server/load-sampler.ts'
import { Pause } from './command/client/pause.ts'
import { CommandTable } from './command/table.ts'
import type { Config } from './config/store.ts'
import { RespcastError } from './errors.ts'
import { shown, type Logger } from './log.ts'
import { Metrics } from './metrics/metrics.ts'
import { Registry, type PublishSpace } from './pubsub/registry.ts'
import { payloadOf } from './delivery/payload.ts'
import type { TokenAuthenticator } from './token/session/authenticator.ts'
import type { Fetch } from './token/verify/key-fetch.ts'
import { validateRolePattern } from './token/grant/placeholders.ts'
import { Admission } from './transport/admission.ts'
import { standalone } from './upstream/none.ts'
import { aclFile } from './acl/acl-file.ts'
import type { ClientEviction } from './client/eviction.ts'
import { clusterView } from './command/cluster/node-address.ts'
import { configAccess } from './config/access.ts'
import { deliveryOptions } from './delivery/options.ts'
import { processFacts } from './command/server/process-facts.ts'
import { RESPCAST_VERSION } from './version.ts'
import { createEviction, createGuard } from './delivery/guards.ts'
import type { OutputGuard } from './delivery/output-guard.ts'
import { Reception } from './transport/reception.ts'
import { createTokens } from './token/tokens.ts'
import { addValidators } from './config/validators.ts'
import {
  createLatencyMonitor,
  createMonitors,
  createSlowLog,
} from './command/diagnostics/watchers.ts'

/** What a core is built with. */
export interface CoreParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly fetch: Fetch
  /** 0 to 1. */
  readonly random: () => number
  readonly atEndOfTurn: (callback: () => void) => void
  /** SHUTDOWN was called. */
  readonly shutdown: () => void
}

/** What {@link Core.inspectToken} finds. */
export type TokenInspection =
  | {
      readonly accepted: true
      readonly user: string
      readonly deny: readonly string[]
      readonly expiresAt: string
    }
  | { readonly accepted: false; readonly reply: string; readonly detail: string }

/** Everything but the listeners: the Pub/Sub core, the ACL, tokens, commands and the clients connected to them. */
export class Core {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly services: Services
  readonly dispatcher: Dispatcher
  readonly admission: Admission
  readonly reception: Reception
  /** What `/metrics` of the administrators' listener answers. */
  readonly metrics: Metrics
  readonly #authenticator: TokenAuthenticator
  readonly #openRevocations: (readOnly: boolean) => Promise<void>
  readonly #guard: OutputGuard
  readonly #eviction: ClientEviction

  /** @throws RespcastError The configuration cannot be used; the message names directive and remedy. */
  constructor(parts: CoreParts) {
    const { config, clock, log } = parts
    this.config = config
    this.clock = clock
    this.log = log
    addValidators(config)
    config.check()

    const table = new CommandTable(ALL_COMMANDS, config.lines('rename-command'))
    const counters = new Counters()
    const users = createUsers(config, table)
    const turn = new Turn(new ArenaPool())
    const registry = new Registry(deliveryOptions({ config, clock, log, counters }), turn)
    config.onChange(['ws-max-message-out'], (settings) => {
      const bytes = settings.memory('ws-max-message-out')
      if (bytes > 0) registry.limitMessages(bytes)
      return undefined
    })
    const clients = new ClientTable(clock)
    this.#guard = createGuard({ config, clock, log, clients, counters })
    this.#eviction = createEviction({ config, clock, log, clients, counters })
    const flusher = new Flusher({
      atEndOfTurn: parts.atEndOfTurn,
      nowMs: () => clock.monotonicMs(),
      turn,
      beforeWrite: (client, nowMs) => this.#guard.beforeWrite(client, nowMs),
      afterWrite: (client, nowMs) => {
        this.#guard.afterWrite(client, nowMs)
        this.#eviction.note(client)
      },
    })
    clients.onClosed((client, cause) => {
      const rest = registry.forget(client)
      if (rest) whileTrue(rest, parts.atEndOfTurn)
      counters.bytesOutClosed += client.output.bytes
      counters.writesClosed += client.output.writes
      counters.countClose(cause.name)
      log.debug(
        { id: client.id, address: client.origin.address, cause: cause.name },
        'client closed',
      )
    })
    const {
      authenticator,
      sessions: tokens,
      explainer,
      audit,
      open,
    } = createTokens({
      ...parts,
      table,
      users,
      clients,
      registry,
      counters,
    })
    this.#authenticator = authenticator
    this.#openRevocations = open
    users.onChange((changes) => {
      applyUserChanges(clients, changes)
      tokens.usersChanged(changes)
    })
    const aclLog = createAclLog(config)
    this.reception = new Reception({
      config,
      clock,
      clients,
      flusher,
      users,
      tokens,
      table,
      onRefused: (client) => logRefusedUpgrade(aclLog, client, clock),
    })
    const file = aclFile({
      path: config.path('aclfile'),
      catalog: table.catalog,
      users,
      clock,
      log,
      autosave: () => config.boolean('acl-autosave'),
    })
    const facts = processFacts(config, clock)
    this.services = {
      clock,
      table,
      clients,
      registry,
      backplane: standalone(registry),
      users,
      aclLog,
      tokens,
      explainer,
      audit,
      counters,
      pause: new Pause(clock),
      monitors: createMonitors(clock, clients),
      slowLog: createSlowLog(config, clock),
      latency: createLatencyMonitor(config, clock),
      load: new LoadSampler(clock, clients, counters, () => void facts.memory()),
      cluster: clusterView(config),
      config: configAccess(config, users, log),
      aclFile: file,
      facts,
      shutdown: parts.shutdown,
      databases: () => config.integer('databases'),
      becomeAnonymous: (client) => this.reception.becomeAnonymous(client),
      mayUsePassword: (client) =>
        client.origin.listener !== 'public' || config.boolean('ws-password-auth'),
    }
    this.metrics = new Metrics({
      services: this.services,
      maxClients: () => config.integer('maxclients'),
      version: RESPCAST_VERSION,
    })
    this.dispatcher = new Dispatcher(this.services)
    this.admission = new Admission(clients, counters, config)
    this.reception.connections = {
      dispatcher: this.dispatcher,
      counters,
      clock,
      flusher,
      mustLogIn: (client) => client.isWebSocket || !this.reception.defaultIsOpen(),
      queryBufferBytes: () => config.memory('client-query-buffer-limit'),
      rates: {
        commandsPerSecond: () => config.integer('ws-command-rate'),
        publishesPerSecond: () => config.integer('ws-publish-rate'),
      },
      onFailure: (client, error) => {
        log.error({ err: error, id: client.id, command: client.lastCommand }, 'a command failed')
      },
      onProtocolError: (client, error) => {
        const { address } = client.origin
        log.debug(
          {
            id: client.id,
            address,
            reason: shown(error.message, config.boolean('hide-user-data-from-log')),
          },
          'protocol error',
        )
      },
    }
    this.#loadUsers()
  }

  /**
   * Gets what has to be there before the first client: revocations, and the keys of the issuers.
   *
   * @param options `readOnly`: nothing is written, since `dir` may be that of a running server.
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used, `ERR_DATA_DIR` if revocations cannot be kept.
   */
  async start({ readOnly = false } = {}): Promise<void> {
    await this.#openRevocations(readOnly)
    await this.#authenticator.start()
    this.#guard.start()
    this.#eviction.start()
    this.services.load.start()
  }

  /** Ends what goes on in the background. Clients are the caller's. */
  stop(): void {
    this.#guard.stop()
    this.#eviction.stop()
    this.services.load.stop()
    this.services.tokens.stop()
  }

  /**
   * Publishes from within the process.
   *
   * @returns Deliveries on this gateway.
   */
  publish(space: PublishSpace, channel: Buffer, payload: Buffer): number {
    const { backplane, counters } = this.services
    const receivers = backplane.publish(space, channel.toString('latin1'), payloadOf(payload))
    counters.messagesPublished++
    counters.messagesDelivered += receivers
    return receivers
  }

  /** Says whether a token would log in now, and what it would grant in ACL text. Nobody is logged in by it. */
  async inspectToken(token: string): Promise<TokenInspection> {
    const result = await this.#authenticator.authenticate(token)
    if ('refused' in result) {
      const { reply, detail } = result.refused
      return { accepted: false, reply, detail }
    }
    const { user, deny, expiresAtMs } = result.ok
    return {
      accepted: true,
      user: describeUser(user),
      deny: deny.map(({ pattern }) => pattern),
      expiresAt: new Date(expiresAtMs).toISOString(),
    }
  }

  /** The line with which protected mode refuses a peer beyond this machine. */
  protectedModeRefusal(isLocal: boolean): string | undefined {
    const isOpen = this.config.boolean('protected-mode') && this.reception.defaultIsOpen()
    return isLocal || !isOpen ? undefined : PROTECTED_MODE
  }

  #loadUsers(): void {
    const { config, log } = this
    const { users, table, aclFile: file } = this.services
    if (config.text('aclfile') !== '') {
      const error = file.load()
      if (error !== undefined) throw new RespcastError('ERR_ACL_FILE', `aclfile: ${error}`)
    } else {
      const lines = config.lines('user').map(([name = '', ...rules]) => ({ name, rules }))
      const result = usersOfConfig(table.catalog, lines, users.ruleOptions)
      if ('error' in result) throw new RespcastError('ERR_CONFIG', `user: ${result.error}`)
      users.replaceAll(result.users)
      for (const notice of result.notices) log.info(notice)
    }
    const password = config.text('requirepass')
    if (password !== '') users.requirePassword(password)
  }
}

/** Takes a step at the end of each turn of the loop, as long as there are more. */
function whileTrue(step: () => boolean, atEndOfTurn: CoreParts['atEndOfTurn']): void {
  atEndOfTurn(() => {
    if (step()) whileTrue(step, atEndOfTurn)
  })
}

function createUsers(config: Config, table: CommandTable): UserTable {
  const users = new UserTable(table.catalog, {
    pubsubDefault: config.choice('acl-pubsub-default'),
    databases: config.integer('databases'),
    checkRolePattern: validateRolePattern,
  })
  config.onChange(['acl-pubsub-default'], (settings) => {
    users.pubsubDefault = settings.choice('acl-pubsub-default')
    return undefined
  })
  return users
}

/** As AUTH does; the name is the same for all, so that a flood of bad tokens is one entry. */
function logRefusedUpgrade(aclLog: AclLog, client: Client, clock: Clock): void {
  const clientInfo = describeClient(client, clock.monotonicMs())
  const event = { reason: 'auth', context: 'toplevel', object: 'upgrade', username: 'jwt' } as const
  aclLog.add({ ...event, clientInfo }, clock.wallMs())
}

function createAclLog(config: Config): AclLog {
  const aclLog = new AclLog(config.integer('acllog-max-len'))
  config.onChange(['acllog-max-len'], (settings) => {
    aclLog.maxLength = settings.integer('acllog-max-len')
    return undefined
  })
  return aclLog
}

const PROTECTED_MODE =
  'DENIED Respcast is running in protected mode because protected mode is enabled and no password is set for the ' +
  'default user. In this mode connections are only accepted from the loopback interface. If you want to connect from ' +
  'external computers, set a password for the default user (requirepass), or turn it off and define other users, or ' +
  'disable protected mode with CONFIG SET protected-mode no from this machine.'
