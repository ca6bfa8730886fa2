import { AclLog } from '../acl/log.ts'
import { describeUser } from '../acl/describe.ts'
import { usersOfConfig } from '../acl/file.ts'
import { newUser } from '../acl/rules.ts'
import { UserTable } from '../acl/users.ts'
import { Client, type ClientOrigin } from '../client/client.ts'
import { ClientTable } from '../client/clients.ts'
import { closeCause } from '../client/close-cause.ts'
import { describeClient } from '../client/describe.ts'
import { Flusher } from '../client/flusher.ts'
import type { Identity } from '../client/identity.ts'
import type { ClientLimits } from '../client/limits.ts'
import type { Sink } from '../client/sink.ts'
import { applyUserChanges } from '../client/user-changes.ts'
import type { Clock } from '../clock.ts'
import { ALL_COMMANDS } from '../command/commands.ts'
import type { Services } from '../command/context.ts'
import { Counters } from '../command/counters.ts'
import { Dispatcher } from '../command/dispatch.ts'
import { CommandTable } from '../command/table.ts'
import type { Config } from '../config/store.ts'
import { RespcastError } from '../errors.ts'
import { shown, type Logger } from '../log.ts'
import { Registry, type PublishSpace } from '../pubsub/registry.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import { TokenAuthenticator } from '../token/authenticator.ts'
import { CACHE_TIMES } from '../token/cached-key-set.ts'
import { SubscriptionJudge } from '../token/judge.ts'
import type { Fetch } from '../token/key-fetch.ts'
import { validateRolePattern } from '../token/placeholders.ts'
import { TokenSessions } from '../token/sessions.ts'
import { Admission } from '../transport/admission.ts'
import { Connection, type ConnectionHost } from '../transport/connection.ts'
import { standalone } from '../upstream/none.ts'
import { aclFile } from './acl-file.ts'
import { configAccess } from './config-access.ts'
import { processFacts } from './facts.ts'
import { configuredIssuers } from './issuers.ts'
import { liveLimits, type LiveLimits } from './live-limits.ts'
import { OutputGuard } from './output-guard.ts'
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
  readonly limits: LiveLimits
  readonly #nobody: Identity
  readonly #connections: ConnectionHost
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

    const table = new CommandTable(ALL_COMMANDS)
    const { catalog } = table
    const counters = new Counters()
    const users = new UserTable(catalog, {
      pubsubDefault: config.choice('acl-pubsub-default'),
      databases: config.integer('databases'),
      checkRolePattern: validateRolePattern,
    })
    config.onChange(['acl-pubsub-default'], (settings) => {
      users.pubsubDefault = settings.choice('acl-pubsub-default')
      return undefined
    })
    const aclLog = new AclLog(config.integer('acllog-max-len'))
    config.onChange(['acllog-max-len'], (settings) => {
      aclLog.maxLength = settings.integer('acllog-max-len')
      return undefined
    })
    const delivery = { shareBytes: config.memory('min-string-size-avoid-copy-reply') }
    config.onChange(['min-string-size-avoid-copy-reply'], (settings) => {
      delivery.shareBytes = settings.memory('min-string-size-avoid-copy-reply')
      return undefined
    })
    const registry = new Registry(delivery)
    const clients: ClientTable = new ClientTable(clock, (client) => flusher.add(client))
    this.#guard = new OutputGuard({
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

    this.#authenticator = new TokenAuthenticator({
      issuers: configuredIssuers(config),
      clock,
      fetch: parts.fetch,
      catalog,
      findRole: (name) => users.get(name),
      pubsubDefault: () => users.pubsubDefault,
      separators: config.text('placeholder-separators'),
      cacheTimes: {
        ...CACHE_TIMES,
        coolDownMs: config.seconds('jwt-jwks-cooldown') * 1000,
        refreshMs: config.seconds('jwt-jwks-refresh') * 1000,
        staleMs: config.seconds('jwt-jwks-max-stale') * 1000,
      },
      events: {
        keysFailed: (issuer, detail) => {
          log.warn({ issuer: issuer.iss, detail }, 'the keys of an issuer cannot be loaded')
        },
        keysRemoved: (_issuer, keyIds) => tokens.keysRemoved(keyIds),
      },
    })
    const tokens: TokenSessions = new TokenSessions({
      authenticator: this.#authenticator,
      clients,
      registry,
      judge: new SubscriptionJudge(catalog),
      clock,
      findUser: (name) => users.get(name),
      random: parts.random,
      settings: {
        get graceMs() {
          return config.seconds('token-expiry-grace') * 1000
        },
        get revocation() {
          return config.choice('ws-revocation')
        },
      },
      events: {
        accepted: (client, grant) => {
          counters.tokensAccepted++
          log.debug(
            { id: client.id, user: shown(grant.userName), kid: grant.kid },
            'token accepted',
          )
        },
        refused: (client, refusal) => {
          counters.tokensRefused++
          const { detail, kid, jti, tokenHash } = refusal
          log.info(
            { id: client.id, address: client.origin.address, detail, kid, jti, tokenHash },
            'token refused',
          )
        },
      },
    })
    users.onChange((changes) => {
      applyUserChanges(clients, changes)
      tokens.usersChanged(changes)
    })

    this.#nobody = {
      user: newUser(catalog, '', { pubsubDefault: 'resetchannels' }),
      ceilings: [],
      token: undefined,
    }
    const file = aclFile({
      path: config.path('aclfile'),
      catalog,
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
      aclLog,
      tokens,
      counters,
      config: configAccess(config, users, log),
      aclFile: file,
      facts: processFacts(config, clock, clients, registry),
      shutdown: parts.shutdown,
      databases: () => config.integer('databases'),
      becomeAnonymous: (client) => this.#becomeAnonymous(client),
      mayUsePassword: (client) =>
        client.origin.listener !== 'public' || config.boolean('ws-password-auth'),
    }
    this.dispatcher = new Dispatcher(this.services)
    this.admission = new Admission(clients, counters, {
      maxClients: () => config.integer('maxclients'),
    })
    this.limits = liveLimits(config)
    this.#connections = {
      dispatcher: this.dispatcher,
      counters,
      mustLogIn: (client) => client.isWebSocket || !this.#defaultIsOpen(),
      queryBufferBytes: () => config.memory('client-query-buffer-limit'),
      nowMs: () => clock.monotonicMs(),
      onProtocolError: (client, error) => {
        log.debug(
          { id: client.id, address: client.origin.address, reason: shown(error.message) },
          'protocol error',
        )
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

  /** Whether tokens can log in: an issuer is configured. */
  get hasIssuer(): boolean {
    return this.#authenticator.enabled
  }

  /** Makes a client of a RESP connection. */
  connectTcp(
    origin: Omit<ClientOrigin, 'id' | 'connectedMs' | 'listener' | 'origin'>,
    sink: Sink,
  ): Connection {
    const client = this.#newClient(
      { ...origin, listener: 'resp', origin: undefined },
      sink,
      2,
      this.limits.tcpClients,
    )
    client.authenticated = this.#defaultIsOpen()
    const seconds = this.config.seconds('tcp-auth-timeout')
    if (seconds > 0 && !client.authenticated) this.#armDeadline(client, seconds)
    return new Connection(client, this.limits.tcpRequests, this.#connections)
  }

  /**
   * Makes a client of a WebSocket.
   *
   * @param token One that came with the upgrade: nothing is executed before it is verified.
   */
  connectWebSocket(
    origin: Omit<ClientOrigin, 'id' | 'connectedMs' | 'transport'>,
    sink: Sink,
    token: string | undefined,
  ): Connection {
    const client = this.#newClient(
      { ...origin, transport: 'websocket' },
      sink,
      3,
      this.limits.webSocketClients,
    )
    this.#armDeadline(client, this.config.seconds('auth-timeout'))
    const connection = new Connection(client, this.limits.webSocketRequests, this.#connections)
    if (token !== undefined) connection.holdFor(this.#loginAtUpgrade(client, token))
    return connection
  }

  /**
   * Publishes from within the process.
   *
   * @returns Deliveries on this gateway.
   */
  publish(space: PublishSpace, channel: Buffer, payload: Buffer): number {
    const { backplane, counters } = this.services
    const receivers = backplane.publish(space, channel.toString('latin1'), channel, payload)
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
    if (isLocal || !this.config.boolean('protected-mode') || !this.#defaultIsOpen())
      return undefined
    return PROTECTED_MODE
  }

  #newClient(
    origin: Omit<ClientOrigin, 'id' | 'connectedMs'>,
    sink: Sink,
    protocol: Protocol,
    limits: ClientLimits,
  ): Client {
    const { clients } = this.services
    const identity = origin.transport === 'websocket' ? this.#nobody : this.#defaultIdentity()
    const client = new Client(
      { ...origin, id: clients.takeId(), connectedMs: this.clock.monotonicMs() },
      identity,
      protocol,
      limits,
      sink,
      clients,
    )
    clients.add(client)
    return client
  }

  async #loginAtUpgrade(client: Client, token: string): Promise<void> {
    const { tokens } = this.services
    const result = await tokens.verify(client, token)
    if (client.closed) return
    if ('error' in result) {
      const text = result.error.replace(/^WRONGPASS /, '')
      client.close(closeCause(result.close, 'flush', text))
    } else {
      tokens.login(client, result.ok)
    }
  }

  #becomeAnonymous(client: Client): void {
    const { clients } = this.services
    if (client.isWebSocket) {
      clients.setIdentity(client, this.#nobody)
      client.authenticated = false
      this.#armDeadline(client, this.config.seconds('auth-timeout'))
    } else {
      clients.setIdentity(client, this.#defaultIdentity())
      client.authenticated = this.#defaultIsOpen()
    }
  }

  /** Closes a client that has not logged in by then. A later login or RESET makes the deadline void. */
  #armDeadline(client: Client, seconds: number): void {
    const epoch = client.deadlineEpoch + 1
    client.deadlineEpoch = epoch
    this.clock.after(seconds * 1000, () => {
      if (client.closed || client.authenticated || client.deadlineEpoch !== epoch) return
      client.close(closeCause('auth-timeout', 'flush', `no login within ${seconds} s`))
    })
  }

  #defaultIdentity(): Identity {
    return { user: this.services.users.default, ceilings: [], token: undefined }
  }

  #defaultIsOpen(): boolean {
    const user = this.services.users.default
    return user.enabled && user.noPassword
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

const PROTECTED_MODE =
  'DENIED Respcast is running in protected mode because protected mode is enabled and no password is set for the ' +
  'default user. In this mode connections are only accepted from the loopback interface. If you want to connect from ' +
  'external computers, set a password for the default user (requirepass), or turn it off and define other users, or ' +
  'disable protected mode with CONFIG SET protected-mode no from this machine.'
