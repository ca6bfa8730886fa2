import { AclLog } from '../../server/acl/log.ts'
import { newUser } from '../../server/acl/rules.ts'
import { UserTable } from '../../server/acl/users.ts'
import { Client, type TransportName } from '../../server/client/client.ts'
import { ClientTable } from '../../server/client/clients.ts'
import { Flusher } from '../../server/delivery/flusher.ts'
import { Turn } from '../../server/delivery/turn.ts'
import {
  NO_CLIENT_LIMITS,
  type ClientLimits,
  type LimitClass,
  type OutputLimit,
} from '../../server/client/limits.ts'
import { ALL_COMMANDS } from '../../server/command/commands.ts'
import type { Services } from '../../server/command/context.ts'
import { Counters } from '../../server/command/counters.ts'
import { Dispatcher } from '../../server/command/dispatch.ts'
import type { ClusterView } from '../../server/command/cluster/view.ts'
import { LatencyMonitor } from '../../server/command/diagnostics/latency.ts'
import { LoadSampler } from '../../server/command/server/load-sampler.ts'
import { MonitorFeed } from '../../server/command/diagnostics/monitor.ts'
import { Pause } from '../../server/command/client/pause.ts'
import { SlowLog } from '../../server/command/diagnostics/slowlog.ts'
import { CommandTable } from '../../server/command/table.ts'
import { OutputGuard } from '../../server/delivery/output-guard.ts'
import { Registry } from '../../server/pubsub/registry.ts'
import { RequestParser } from '../../server/resp/request-parser.ts'
import { TokenAuthenticator } from '../../server/token/session/authenticator.ts'
import { TokenExplainer } from '../../server/token/explain/explain.ts'
import type { Issuer } from '../../server/token/verify/issuer.ts'
import { validateRolePattern } from '../../server/token/grant/placeholders.ts'
import type { TokenSessionSettings } from '../../server/token/session/session-parts.ts'
import { TokenSessions } from '../../server/token/session/sessions.ts'
import { standalone } from '../../server/upstream/none.ts'
import { FakeClock } from './fake-clock.ts'
import { PoisonedArenas } from './poisoned-arenas.ts'
import { RecordingSink } from './recording-sink.ts'
import { noFetch, testIssuer } from './tokens.ts'

const NO_PARSER_LIMITS = {
  maxBulkBytes: 536_870_912,
  maxArguments: 2_147_483_647,
  maxCommandBytes: Number.POSITIVE_INFINITY,
}

const NO_OUTPUT_LIMIT: OutputLimit = { hardBytes: 0, softBytes: 0, softSeconds: 0 }

/** A command as a RESP array of bulk strings; texts are byte strings. */
export function command(...args: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length}\r\n`)]
  for (const arg of args) {
    const bytes = typeof arg === 'string' ? Buffer.from(arg, 'latin1') : arg
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
}

/** Runs what was put off to the end of the turn when the test says so. */
export class ManualTurn {
  #waiting: (() => void)[] = []

  readonly atEndOfTurn = (callback: () => void): void => {
    this.#waiting.push(callback)
  }

  /** Ends turns until nothing is put off any more. */
  end(): void {
    while (this.#waiting.length > 0) {
      const callbacks = this.#waiting
      this.#waiting = []
      for (const callback of callbacks) callback()
    }
  }
}

/** Takes steps until one says that it was the last. @returns How many there were. */
export function countSteps(step: (() => boolean) | undefined): number {
  if (!step) return 0
  return step() ? 1 + countSteps(step) : 1
}

/** A connection without a socket: bytes in, bytes out. */
export class TestClient {
  readonly client: Client
  readonly sink: RecordingSink
  readonly #server: TestServer
  readonly #parser = new RequestParser(NO_PARSER_LIMITS)
  #waiting: Promise<void> | undefined

  constructor(server: TestServer, client: Client, sink: RecordingSink) {
    this.#server = server
    this.client = client
    this.sink = sink
  }

  /** Hands bytes over and executes what is complete, in this turn. They are overwritten when that is done. */
  write(bytes: Buffer | string): void {
    const lent = Buffer.from(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    this.#parser.lend(lent)
    this.#process()
    this.#parser.keep(this.#waiting !== undefined)
    lent.fill(0xee)
  }

  /** Sends one command and ends the turn. @returns What this connection was sent since the last look. */
  send(...args: readonly (string | Buffer)[]): string {
    this.write(command(...args))
    return this.read()
  }

  /** As {@link send}, for a command whose answer has to wait. */
  async sendAndWait(...args: readonly (string | Buffer)[]): Promise<string> {
    this.write(command(...args))
    await this.settled()
    return this.read()
  }

  /** Ends the turn. @returns What this connection was sent since the last look; RESP without frame headers. */
  read(): string {
    this.#server.turn.end()
    return this.sink.framed ? this.sink.takeMessages().join('') : this.sink.take()
  }

  /** Waits until no command of this connection waits for its answer. */
  async settled(): Promise<void> {
    while (this.#waiting) await this.#waiting
  }

  #process(): void {
    const { client } = this
    while (!this.#waiting && !client.closed && this.#parser.next()) {
      const waiting = this.#server.dispatcher.execute(client, this.#parser)
      if (!waiting) continue
      this.#waiting = waiting.then(() => {
        this.#waiting = undefined
        this.#process()
      })
    }
  }
}

/** What a test may choose about a {@link TestServer}. */
export interface TestServerOptions {
  readonly shareBytes?: number
  /** The default is one issuer, see `testIssuer`. */
  readonly issuers?: readonly Issuer[]
  readonly settings?: Partial<TokenSessionSettings>
  /** `client-output-buffer-limit`; classes that are not named have none. */
  readonly outputLimits?: Partial<Record<LimitClass, OutputLimit>>
  /** The server is a cluster of one node. */
  readonly cluster?: ClusterView
}

/** How a test connects. */
export interface ConnectOptions {
  readonly transport?: TransportName
  readonly limits?: Partial<ClientLimits>
  readonly protocol?: 2 | 3
  readonly address?: string
}

/** The core with all commands over parts in memory: no socket, a clock that stands, turns that end when told to. */
export class TestServer {
  readonly clock = new FakeClock()
  readonly turn = new ManualTurn()
  /** What messages lie in while they are under way; overwritten as soon as nobody should need it. */
  readonly arenas = new PoisonedArenas()
  readonly #turn = new Turn(this.arenas)
  readonly counters = new Counters()
  readonly aclLog = new AclLog()
  readonly table = new CommandTable(ALL_COMMANDS)
  readonly registry: Registry
  readonly flusher: Flusher
  readonly clients: ClientTable
  readonly users: UserTable
  readonly tokens: TokenSessions
  readonly explainer: TokenExplainer
  readonly guard: OutputGuard
  /** May be changed at any time. */
  readonly settings: { -readonly [K in keyof TokenSessionSettings]: TokenSessionSettings[K] }
  readonly services: Services
  readonly dispatcher: Dispatcher
  /** How often SHUTDOWN was carried out. */
  shutdowns = 0

  readonly #options: TestServerOptions

  constructor(options: TestServerOptions = {}) {
    const { clock, table } = this
    this.#options = options
    this.registry = new Registry({ shareBytes: options.shareBytes ?? 16_384 }, this.#turn)
    this.flusher = new Flusher({
      atEndOfTurn: this.turn.atEndOfTurn,
      nowMs: () => clock.monotonicMs(),
      turn: this.#turn,
      beforeWrite: (client, nowMs) => this.guard.beforeWrite(client, nowMs),
      afterWrite: (client, nowMs) => this.guard.afterWrite(client, nowMs),
    })
    this.clients = new ClientTable(clock)
    this.guard = new OutputGuard({
      limit: (name) => options.outputLimits?.[name] ?? NO_OUTPUT_LIMIT,
      idleSeconds: () => 0,
      clients: this.clients,
      clock,
      onExceeded: () => this.counters.outputLimitDisconnections++,
    })
    this.users = new UserTable(table.catalog, {
      pubsubDefault: 'resetchannels',
      checkRolePattern: validateRolePattern,
    })
    const findUser = (name: string) => this.users.get(name)
    this.settings = {
      graceMs: 25_000,
      revocation: 'close',
      maxWebSocketsPerUser: 0,
      ...options.settings,
    }
    const authenticator = new TokenAuthenticator({
      issuers: options.issuers ?? [testIssuer()],
      clock,
      fetch: noFetch,
      catalog: table.catalog,
      findUser,
      pubsubDefault: () => 'resetchannels',
      separators: ':',
    })
    this.tokens = new TokenSessions({
      authenticator,
      clients: this.clients,
      registry: this.registry,
      catalog: table.catalog,
      clock,
      findUser,
      random: () => 0,
      settings: this.settings,
      events: {
        accepted: () => this.counters.tokensAccepted++,
        refused: () => this.counters.tokensRefused++,
      },
    })
    this.explainer = new TokenExplainer({
      authenticator,
      findUser,
      grantOf: (client) => this.tokens.grantOf(client),
      revocations: this.tokens.revocations,
    })
    this.clients.onClosed((client) => {
      countSteps(this.registry.forget(client))
      this.services.monitors.delete(client)
    })
    this.users.onChange((changes) => this.tokens.usersChanged(changes))
    this.services = this.#services()
    this.dispatcher = new Dispatcher(this.services)
  }

  /** A connection that was just accepted: RESP2 over TCP, RESP3 over WebSocket. */
  connect(options: ConnectOptions = {}): TestClient {
    const { transport = 'tcp' } = options
    const webSocket = transport === 'websocket'
    const sink = new RecordingSink(webSocket)
    const id = this.clients.takeId()
    const client = new Client(
      {
        id,
        transport,
        address: options.address ?? `127.0.0.1:${40_000 + id}`,
        localAddress: '127.0.0.1:6380',
        listener: webSocket ? 'public' : 'resp',
        origin: webSocket ? 'https://app.example' : undefined,
        connectedMs: this.clock.monotonicMs(),
      },
      { user: this.users.default, ceilings: [], token: undefined },
      options.protocol ?? (webSocket ? 3 : 2),
      { ...NO_CLIENT_LIMITS, unlimited: options.limits === undefined, ...options.limits },
      sink,
      this.flusher,
      this.clients,
    )
    this.#becomeAnonymous(client)
    this.clients.add(client)
    return new TestClient(this, client, sink)
  }

  /** Makes or changes a user; the rules are parted by blanks. */
  setUser(name: string, rules: string): void {
    const result = this.users.setUser(name, rules === '' ? [] : rules.split(' '))
    if ('error' in result) throw new Error(result.error)
  }

  #becomeAnonymous(client: Client): void {
    const { users } = this
    const user = client.isWebSocket
      ? newUser(this.table.catalog, '', { pubsubDefault: 'resetchannels' })
      : users.default
    this.clients.setIdentity(client, { user, ceilings: [], token: undefined })
    client.authenticated = !client.isWebSocket && user.enabled && user.noPassword
  }

  #services(): Services {
    const { clock, table, clients, registry, users, aclLog, tokens, counters } = this
    return {
      clock,
      table,
      clients,
      registry,
      backplane: standalone(registry),
      users,
      aclLog,
      tokens,
      explainer: this.explainer,
      audit: { recent: () => [] },
      counters,
      pause: new Pause(clock),
      monitors: new MonitorFeed(clock),
      slowLog: new SlowLog({ slowerThan: 10_000, maxLength: 128 }, clock),
      config: { get: () => [], set: () => undefined, rewrite: () => undefined },
      aclFile: { save: () => undefined, load: () => undefined, autosave: () => undefined },
      latency: new LatencyMonitor(
        { thresholdMs: 0, tracking: true, percentiles: ['50', '99', '99.9'] },
        clock,
      ),
      load: new LoadSampler(clock, clients, counters),
      cluster: this.#options.cluster,
      facts: {
        runId: 'f'.repeat(40),
        startedMs: 0,
        version: '8.0.6',
        server: () => [['redis_version', '8.0.6']],
        cpu: () => [],
        memory: () => ({ used: 3_000, peak: 4_000, rss: 6_000, startup: 1_000, system: 8_000 }),
      },
      shutdown: () => this.shutdowns++,
      databases: () => 16,
      becomeAnonymous: (client) => this.#becomeAnonymous(client),
      mayUsePassword: (client) => !client.isWebSocket,
    }
  }
}
