import { describeUser } from './acl/describe.ts'
import { AclFile, usersOfConfig } from './acl/file.ts'
import { AclLog } from './acl/log.ts'
import { SharedUsers } from './acl/shared-users.ts'
import { UserTable } from './acl/users.ts'
import { ClientTable } from './client/clients.ts'
import { Drain } from './client/drain.ts'
import { ClientEviction } from './client/eviction.ts'
import { ClientFence } from './client/fence.ts'
import { GapNotices } from './client/gap-notice.ts'
import { transportLimits, type TransportLimits } from './client/limits.ts'
import { Login } from './client/login.ts'
import { SharedKills } from './client/shared-kills.ts'
import { applyUserChanges } from './client/lost-subscriptions.ts'
import type { Clock } from './clock.ts'
import { clusterView, type ClusterView } from './command/cluster/view.ts'
import { ALL_COMMANDS } from './command/commands.ts'
import type { Services } from './command/context.ts'
import { Counters } from './command/counters.ts'
import { LatencyMonitor } from './command/diagnostics/latency.ts'
import { MonitorFeed } from './command/diagnostics/monitor.ts'
import { SlowLog } from './command/diagnostics/slowlog.ts'
import { Dispatcher } from './command/dispatch.ts'
import { Pause } from './command/client/pause.ts'
import { LoadSampler } from './command/server/load-sampler.ts'
import {
  processFacts,
  type MemoryFacts,
  type ProcessFacts,
} from './command/server/process-facts.ts'
import { CommandTable } from './command/table.ts'
import { listensOnTcp, servesTheWorld } from './config/listeners.ts'
import { ConfigFile } from './config/rewrite.ts'
import type { Config } from './config/store.ts'
import { addValidators } from './config/validators.ts'
import type { Control } from './control/control.ts'
import { createControl } from './control/create.ts'
import { ArenaPool, type Arenas } from './delivery/arenas.ts'
import { Flusher } from './delivery/flusher.ts'
import { deliveryOptions } from './delivery/options.ts'
import { OutputGuard } from './client/output-limits.ts'
import { payloadOf } from './delivery/segment.ts'
import { Turn } from './delivery/turn.ts'
import { RespcastError } from './errors.ts'
import { PeerLog, setLogLevel, type Logger } from './log.ts'
import { nodeDigests, nodeFacts, type NodeAddresses } from './node-facts.ts'
import { Registry, type PublishSpace } from './pubsub/registry.ts'
import type { TokenExplainer } from './token/explain/explain.ts'
import { validateRolePattern } from './token/grant/placeholders.ts'
import type { AuditLog } from './token/revoke/audit.ts'
import type { SharedRevocations } from './token/revoke/shared-revocations.ts'
import type { TokenAuthenticator } from './token/session/authenticator.ts'
import { PatternDrops } from './token/session/costly-patterns.ts'
import type { TokenSessions } from './token/session/sessions.ts'
import { createTokens } from './token/tokens.ts'
import type { Fetch } from './token/verify/key-fetch.ts'
import { Admission } from './transport/admission.ts'
import { RoundRobin } from './transport/round-robin.ts'
import type { Backplane, PublishAnswer } from './upstream/backplane.ts'
import { createBackplane } from './upstream/upstream.ts'
import { addUpstreamValidators, checkUpstreamFiles } from './upstream/settings.ts'

/** The environment of a core, which tests replace. */
interface CoreParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly fetch: Fetch
  /** 0 to 1. */
  readonly random: () => number
  readonly atEndOfTurn: (callback: () => void) => void
  /** Called by SHUTDOWN, and at the end of a drain. */
  readonly shutdown: () => void
  /** Closes the listeners of a server that drains, but for administrators'. */
  readonly stopListening?: () => void
  /** Memory of messages that are under way. */
  readonly arenas?: Arenas
  /** The way to other gateways; by default that of the directive `upstream`. */
  readonly backplane?: (registry: Registry) => Backplane
  /** What gateways agree on; by default that of the directive `upstream-control`. */
  readonly control?: Control
  /** The number of this gateway among those that share revocations, as it is now; 0 alone. */
  readonly nodeNumber?: () => number
  /** Memory of the process. */
  readonly memory?: () => MemoryFacts
}

/** Outcome of {@link Core.inspectToken}. */
type TokenInspection =
  | {
      readonly accepted: true
      readonly user: string
      readonly deny: readonly string[]
      readonly expiresAt: string
    }
  | { readonly accepted: false; readonly reply: string; readonly detail: string }

/** Everything but the listeners: the Pub/Sub core, the ACL, tokens, commands and the clients connected to them. */
export class Core implements Services {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly peerLog: PeerLog
  readonly counters = new Counters()
  readonly table: CommandTable
  readonly users: UserTable
  readonly aclLog: AclLog
  readonly aclFile: AclFile
  /** Users as gateways share them. */
  readonly sharedUsers: SharedUsers
  readonly configFile: ConfigFile
  readonly registry: Registry
  readonly backplane: Backplane
  readonly control: Control
  readonly clients: ClientTable
  readonly limits: TransportLimits
  readonly guard: OutputGuard
  readonly gapNotices: GapNotices
  readonly eviction: ClientEviction
  readonly flusher: Flusher
  readonly turns: RoundRobin
  readonly authenticator: TokenAuthenticator
  readonly tokens: TokenSessions
  readonly explainer: TokenExplainer
  readonly login: Login
  readonly audit: Pick<AuditLog, 'recent'>
  /** Revocations as gateways share them. */
  readonly sharedRevocations: SharedRevocations
  readonly pause: Pause
  readonly monitors: MonitorFeed
  readonly slowLog: SlowLog
  readonly latency: LatencyMonitor
  readonly facts: ProcessFacts
  readonly load: LoadSampler
  readonly cluster: ClusterView | undefined
  readonly dispatcher: Dispatcher
  readonly admission: Admission
  readonly drain: Drain
  readonly shutdown: () => void
  /** Where its listeners are, once they are open. */
  addresses: NodeAddresses = { resp: '', http: '', admin: '' }
  readonly #fence: ClientFence
  readonly #openRevocations: (readOnly: boolean) => Promise<void>

  /** @throws RespcastError The configuration cannot be used; the message names directive and remedy. */
  constructor(parts: CoreParts) {
    const { config, clock, log, atEndOfTurn } = parts
    this.config = config
    this.clock = clock
    this.log = log
    this.peerLog = new PeerLog(log, clock)
    this.shutdown = parts.shutdown
    addValidators(config)
    addUpstreamValidators(config)
    config.check()
    checkUpstreamFiles(config)

    this.table = new CommandTable(ALL_COMMANDS, config.lines('rename-command'))
    this.users = new UserTable(this.table.catalog, config, validateRolePattern)
    this.aclLog = new AclLog(config)
    this.configFile = new ConfigFile(config, this.users, log, atEndOfTurn)
    this.aclFile = new AclFile(this.table.catalog, this.users, config, log, clock)
    this.sharedUsers = new SharedUsers(this.users, config, log, this.aclFile)

    const turn = new Turn(parts.arenas ?? new ArenaPool())
    const drops = new PatternDrops(this, atEndOfTurn)
    this.registry = new Registry(
      deliveryOptions(this, (pattern) => drops.add(pattern)),
      turn,
    )

    const nodeNumber = parts.nodeNumber ?? ((): number => this.control.number)
    this.clients = new ClientTable(clock, nodeNumber)
    this.backplane =
      parts.backplane?.(this.registry) ??
      createBackplane({
        settings: config,
        clock,
        log,
        peerLog: this.peerLog,
        registry: this.registry,
        random: parts.random,
        atEndOfTurn: (callback) => this.flusher.beforeWrites(callback),
        subscribers: () => this.clients.all(),
      })
    this.limits = transportLimits(config)
    this.guard = new OutputGuard(this)
    this.eviction = new ClientEviction(this)
    this.gapNotices = new GapNotices(clock, config, this.backplane)
    this.flusher = new Flusher({
      atEndOfTurn,
      nowMs: () => clock.monotonicMs(),
      turn,
      guard: this.guard,
      eviction: this.eviction,
      check: () => this.control.checkLease(),
    })
    this.turns = new RoundRobin({ atEndOfTurn, nowMs: () => clock.monotonicMs() })
    this.clients.onClosed((client, cause) => {
      client.pendingNames?.cancel()
      const rest = this.registry.forget(client)
      if (rest) repeatEachTurn(rest, atEndOfTurn)
      this.counters.bytesOutClosed += client.output.bytes
      this.counters.writesClosed += client.output.writes
      this.counters.countClose(cause.name)
      const { id, address } = client.origin
      this.peerLog.write('clientClosed', () => ({ id, address, cause: cause.name }))
    })

    this.users.onChange((changes) => applyUserChanges(this.clients, changes))
    const { fetch, random } = parts
    const tokens = createTokens(this, fetch, random, nodeNumber)
    this.authenticator = tokens.authenticator
    this.tokens = tokens.sessions
    this.explainer = tokens.explainer
    this.audit = tokens.audit
    this.sharedRevocations = tokens.shared
    this.#openRevocations = tokens.open
    const startedAtMs = clock.wallMs()
    const digests = config.cached(nodeDigests)
    this.control =
      parts.control ??
      createControl({
        clock,
        log,
        settings: config,
        line: this.backplane.control,
        journal: tokens.sessions.revocations.journal,
        describe: () => nodeFacts(this, this.addresses, startedAtMs, digests),
        local: this.registry,
        random,
      })
    this.control.share(this.sharedUsers)
    this.control.share(this.sharedRevocations)
    this.sharedRevocations.onUncommitted = (name) => this.#commitRevocation(name)
    this.control.share(new SharedKills(this.clients, clock, () => this.control.upstreamMs))
    this.#fence = new ClientFence({
      clock,
      clients: this.clients,
      control: this.control,
      random,
      atEndOfTurn,
    })

    this.login = new Login(this)

    this.pause = new Pause(clock)
    this.monitors = new MonitorFeed(clock, this.clients)
    this.slowLog = new SlowLog(config, clock)
    this.latency = new LatencyMonitor(config, clock)
    this.facts = processFacts(config, clock, parts.memory)
    this.load = new LoadSampler(clock, this.clients, this.counters, () => void this.facts.memory())
    this.cluster = clusterView(config)
    this.dispatcher = new Dispatcher(this)

    this.admission = new Admission(this, atEndOfTurn)
    this.drain = new Drain({
      atEndOfTurn,
      clients: this.clients,
      clock,
      config,
      log,
      random,
      refuse: () => {
        this.admission.drain()
        parts.stopListening?.()
      },
      end: parts.shutdown,
    })

    config.onChange(['requirepass'], (settings) => {
      this.users.requirePassword(settings.text('requirepass'))
    })
    config.onChange(['loglevel'], (settings) => setLogLevel(log, settings.choice('loglevel')))
    this.#loadUsers()
  }

  /**
   * Loads the state that the first client needs: revocations, and the keys of the issuers.
   *
   * @param options `readOnly`: nothing is written, since `dir` may be that of a running server.
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used, `ERR_DATA_DIR` if revocations cannot be kept.
   */
  async start({ readOnly = false } = {}): Promise<void> {
    await this.#openRevocations(readOnly)
    await this.authenticator.issuers.start()
    this.guard.start()
    this.eviction.start()
    this.load.start()
    if (readOnly) return
    this.control.start()
    this.backplane.start()
  }

  /** Ends all background work, after the writes that are under way. Clients are the caller's. */
  async stop(): Promise<void> {
    this.guard.stop()
    this.eviction.stop()
    this.gapNotices.stop()
    this.load.stop()
    this.#fence.stop()
    this.peerLog.flush()
    await this.control.stop()
    await Promise.all([
      this.tokens.stop(),
      this.aclFile.close(),
      this.configFile.settled(),
      this.backplane.stop(),
    ])
  }

  /**
   * Publishes from within the process, after those before it if the upstream has no room.
   *
   * @returns Receivers, as PUBLISH counts them.
   * @throws RespcastError `ERR_NOT_PUBLISHED`, with the answer of PUBLISH.
   */
  async publish(space: PublishSpace, channel: Buffer, payload: Buffer): Promise<number> {
    const { backplane, counters } = this
    const key = channel.toString('latin1')
    while (backplane.isFull) await new Promise<void>((resolve) => backplane.whenRoom(resolve))
    const answer = await new Promise<PublishAnswer>((resolve) => {
      const atOnce =
        backplane.refuses(key) ?? backplane.publish(space, key, payloadOf(payload), resolve)
      if (atOnce !== undefined) resolve(atOnce)
    })
    if (typeof answer === 'string') throw new RespcastError('ERR_NOT_PUBLISHED', answer)
    counters.messagesPublished++
    counters.messagesDelivered += answer
    return answer
  }

  /** Reports whether a token would log in now, and its grants in ACL text. No client is logged in. */
  async inspectToken(token: string): Promise<TokenInspection> {
    const result = await this.authenticator.authenticate(token)
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

  /** Tells other gateways of a revocation that this one has changed by itself. */
  #commitRevocation(name: string): void {
    const { control, sharedRevocations } = this
    if (control.isAlone) return
    void control.commit({
      changes: [
        { key: `${sharedRevocations.prefix}:${name}`, value: sharedRevocations.valueOf(name) },
      ],
      actor: { user: '', address: '' },
      enforced: sharedRevocations.cutOf(name).then(() => 0),
      wait: { count: 0, ms: 0 },
    })
  }

  #loadUsers(): void {
    const { config, log, users, table } = this
    if (config.text('aclfile') !== '') {
      const error = this.aclFile.load()
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
    if (users.defaultIsOpen && servesTheWorld(config) && listensOnTcp(config)) {
      throw new RespcastError(
        'ERR_CONFIG',
        'requirepass: http-bind listens beyond loopback while the user default needs no password, so that whatever reaches ' +
          'the RESP port from this machine may do everything. Set requirepass, or user default off and other users, or ' +
          'port 0 and a unixsocket.',
      )
    }
  }
}

/** Takes one step at the end of each turn of the event loop until a step reports that it was the last. */
function repeatEachTurn(step: () => boolean, atEndOfTurn: CoreParts['atEndOfTurn']): void {
  atEndOfTurn(() => {
    if (step()) repeatEachTurn(step, atEndOfTurn)
  })
}
