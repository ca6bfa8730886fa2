import { describeUser } from '../acl/describe.ts'
import { usersOfConfig } from '../acl/file.ts'
import { AclLog } from '../acl/log.ts'
import { UserTable } from '../acl/users.ts'
import { ClientTable } from '../client/clients.ts'
import { describeClient } from '../client/describe.ts'
import { Flusher } from '../client/flusher.ts'
import { applyUserChanges } from '../client/user-changes.ts'
import type { Clock } from '../clock.ts'
import { ALL_COMMANDS } from '../command/commands.ts'
import type { Services } from '../command/context.ts'
import { Counters } from '../command/counters.ts'
import { Dispatcher } from '../command/dispatch.ts'
import { MonitorFeed } from '../command/monitor.ts'
import { Pause } from '../command/pause.ts'
import { SlowLog } from '../command/slow-log.ts'
import { CommandTable } from '../command/table.ts'
import type { Settings } from '../config/settings.ts'
import type { Config } from '../config/store.ts'
import { RespcastError } from '../errors.ts'
import { shown, type Logger } from '../log.ts'
import { Registry, type PublishSpace } from '../pubsub/registry.ts'
import type { TokenAuthenticator } from '../token/authenticator.ts'
import type { Fetch } from '../token/key-fetch.ts'
import { validateRolePattern } from '../token/placeholders.ts'
import { Admission } from '../transport/admission.ts'
import { standalone } from '../upstream/none.ts'
import { aclFile } from './acl-file.ts'
import { configAccess } from './config-access.ts'
import { processFacts } from './facts.ts'
import { OutputGuard } from './output-guard.ts'
import { Reception } from './reception.ts'
import { createTokens } from './tokens.ts'
import { addValidators } from './validators.ts'

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
  readonly #authenticator: TokenAuthenticator
  readonly #guard: OutputGuard

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
    const registry = new Registry(deliveryOptions(config))
    const clients: ClientTable = new ClientTable(clock, (client) => flusher.add(client))
    this.#guard = createGuard(parts, clients, counters)
    const flusher = new Flusher({
      atEndOfTurn: parts.atEndOfTurn,
      nowMs: () => clock.monotonicMs(),
      endTurn: () => registry.endTurn(),
      beforeWrite: (client, nowMs) => this.#guard.beforeWrite(client, nowMs),
      afterWrite: (client, nowMs) => this.#guard.afterWrite(client, nowMs),
    })
    clients.onClosed((client, cause) => {
      registry.unsubscribeAll(client)
      counters.bytesOutClosed += client.bytesOut
      log.debug(
        { id: client.id, address: client.origin.address, cause: cause.name },
        'client closed',
      )
    })
    const { authenticator, sessions: tokens } = createTokens({
      ...parts,
      table,
      users,
      clients,
      registry,
      counters,
    })
    this.#authenticator = authenticator
    users.onChange((changes) => {
      applyUserChanges(clients, changes)
      tokens.usersChanged(changes)
    })
    this.reception = new Reception({ config, clock, clients, users, tokens, table })
    const file = aclFile({
      path: config.path('aclfile'),
      catalog: table.catalog,
      users,
      clock,
      log,
      autosave: () => config.boolean('acl-autosave'),
    })
    this.services = {
      clock,
      table,
      clients,
      registry,
      backplane: standalone(registry),
      users,
      aclLog: createAclLog(config),
      tokens,
      counters,
      pause: new Pause(clock),
      monitors: createMonitors(clock, clients),
      slowLog: createSlowLog(config, clock),
      config: configAccess(config, users, log),
      aclFile: file,
      facts: processFacts(config, clock, clients, registry),
      shutdown: parts.shutdown,
      databases: () => config.integer('databases'),
      becomeAnonymous: (client) => this.reception.becomeAnonymous(client),
      mayUsePassword: (client) =>
        client.origin.listener !== 'public' || config.boolean('ws-password-auth'),
    }
    this.dispatcher = new Dispatcher(this.services)
    this.admission = new Admission(clients, counters, config)
    this.reception.connections = {
      dispatcher: this.dispatcher,
      counters,
      clock,
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
        log.debug({ id: client.id, address, reason: shown(error.message) }, 'protocol error')
      },
    }
    this.#loadUsers()
  }

  /**
   * Gets what has to be there before the first client: the keys of the issuers.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used.
   */
  async start(): Promise<void> {
    await this.#authenticator.start()
    this.#guard.start()
  }

  /** Ends what goes on in the background. Clients are the caller's. */
  stop(): void {
    this.#guard.stop()
    this.services.tokens.stop()
  }

  /**
   * Publishes from within the process.
   *
   * @returns Deliveries on this gateway.
   */
  publish(space: PublishSpace, channel: Buffer, payload: Buffer): number {
    const { backplane, counters } = this.services
    const receivers = backplane.publish(space, channel.toString('latin1'), { channel, payload })
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

function createAclLog(config: Config): AclLog {
  const aclLog = new AclLog(config.integer('acllog-max-len'))
  config.onChange(['acllog-max-len'], (settings) => {
    aclLog.maxLength = settings.integer('acllog-max-len')
    return undefined
  })
  return aclLog
}

function createMonitors(clock: Clock, clients: ClientTable): MonitorFeed {
  const monitors = new MonitorFeed(clock)
  clients.onClosed((client) => monitors.delete(client))
  return monitors
}

function createSlowLog(config: Config, clock: Clock): SlowLog {
  const read = (settings: Settings): { slowerThan: number; maxLength: number } => ({
    slowerThan: settings.integer('slowlog-log-slower-than'),
    maxLength: settings.integer('slowlog-max-len'),
  })
  const settings = read(config)
  config.onChange(['slowlog-log-slower-than', 'slowlog-max-len'], (changed) => {
    Object.assign(settings, read(changed))
    return undefined
  })
  return new SlowLog(settings, clock)
}

function deliveryOptions(config: Config): { shareBytes: number } {
  const options = { shareBytes: config.memory('min-string-size-avoid-copy-reply') }
  config.onChange(['min-string-size-avoid-copy-reply'], (settings) => {
    options.shareBytes = settings.memory('min-string-size-avoid-copy-reply')
    return undefined
  })
  return options
}

function createGuard(parts: CoreParts, clients: ClientTable, counters: Counters): OutputGuard {
  const { config, clock, log } = parts
  return new OutputGuard({
    limit: (name) => config.bufferLimits()[name],
    idleSeconds: () => config.seconds('timeout'),
    clients,
    clock,
    onExceeded: (client, bound) => {
      counters.outputLimitDisconnections++
      log.warn(
        { client: describeClient(client, clock.monotonicMs()), bound },
        'client closed for overcoming of output buffer limits',
      )
    },
  })
}

const PROTECTED_MODE =
  'DENIED Respcast is running in protected mode because protected mode is enabled and no password is set for the ' +
  'default user. In this mode connections are only accepted from the loopback interface. If you want to connect from ' +
  'external computers, set a password for the default user (requirepass), or turn it off and define other users, or ' +
  'disable protected mode with CONFIG SET protected-mode no from this machine.'
