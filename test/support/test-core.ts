import type { Client, TransportName } from '../../server/client/client.ts'
import type { Control } from '../../server/control/control.ts'
import { Core } from '../../server/core.ts'
import { silentLog, type Logger } from '../../server/log.ts'
import type { Registry } from '../../server/pubsub/registry.ts'
import type { Connection } from '../../server/transport/connection.ts'
import { connectTcp, connectWebSocket } from '../../server/transport/reception.ts'
import { alone, type Backplane } from '../../server/upstream/backplane.ts'
import { FakeClock } from './fake-clock.ts'
import { PoisonedArenas } from './poisoned-arenas.ts'
import { RecordingSink } from './recording-sink.ts'
import { settingsOf, type Directives } from './settings.ts'
import { AUD, ISS, noFetch, SECRET } from './tokens.ts'

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

  /** Ends this turn alone. */
  endOne(): void {
    const callbacks = this.#waiting
    this.#waiting = []
    for (const callback of callbacks) callback()
  }

  /** Ends turns until nothing is put off any more. */
  end(): void {
    while (this.#waiting.length > 0) this.endOne()
  }
}

/** Takes steps until one reports that it was the last. @returns How many there were. */
export function countSteps(step: (() => boolean) | undefined): number {
  if (!step) return 0
  return step() ? 1 + countSteps(step) : 1
}

/** A connection without a socket: bytes in, bytes out. */
export class TestClient {
  readonly client: Client
  readonly sink: RecordingSink
  readonly connection: Connection
  readonly #core: TestCore

  constructor(core: TestCore, connection: Connection, sink: RecordingSink) {
    this.#core = core
    this.connection = connection
    this.client = connection.client
    this.sink = sink
  }

  /** Hands bytes over as one read of a socket, and executes what is complete. They are overwritten afterwards. */
  write(bytes: Buffer | string): void {
    const own = Buffer.from(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    if (this.client.isWebSocket) {
      this.connection.receive(own)
      return
    }
    this.connection.receiveLent(own)
    own.fill(0xee)
  }

  /** Sends one command and ends the turn. @returns The output since the last look. */
  send(...args: readonly (string | Buffer)[]): string {
    this.write(command(...args))
    return this.read()
  }

  /** As {@link send}, for a command that takes so many milliseconds. */
  sendTaking(ms: number, ...args: readonly string[]): string {
    const { dispatcher, clock } = this.#core
    const startBatch = dispatcher.startBatch.bind(dispatcher)
    dispatcher.startBatch = (nowMs) => {
      startBatch(nowMs)
      clock.advance(ms)
    }
    try {
      this.write(command(...args))
    } finally {
      dispatcher.startBatch = startBatch
    }
    return this.read()
  }

  /** As {@link send}, for a command whose answer has to wait. */
  async sendAndWait(...args: readonly (string | Buffer)[]): Promise<string> {
    this.write(command(...args))
    await this.settled()
    return this.read()
  }

  /** Ends the turn. @returns The output since the last look; RESP without frame headers. */
  read(): string {
    this.#core.turn.end()
    return this.sink.framed ? this.sink.takeMessages().join('') : this.sink.take()
  }

  /** Makes a WebSocket the default user, which no login does. */
  becomeDefault(): void {
    const identity = { user: this.#core.users.default, ceilings: [], token: undefined }
    this.#core.clients.setIdentity(this.client, identity)
    this.client.authenticate()
  }

  /** Waits until no command of this connection waits for its answer; turns end meanwhile. */
  async settled(): Promise<void> {
    // Signatures are checked on another thread.
    while (this.sink.paused && !this.client.closed) {
      await new Promise((resolve) => void setImmediate(resolve))
      this.#core.turn.end()
    }
  }
}

/** Options of a test's connection. */
export interface ConnectOptions {
  readonly transport?: TransportName
  readonly protocol?: 2 | 3
  readonly address?: string
  /** Of a WebSocket; the default is the public one. */
  readonly listener?: 'public' | 'admin'
  /** A token that comes with the upgrade. */
  readonly token?: string
}

/** No limit on output, and none on the subscriptions of WebSockets; nothing on disk. */
const UNLIMITED: Directives = {
  'client-output-buffer-limit': 'normal 0 0 0 pubsub 0 0 0 websocket 0 0 0',
  'ws-max-subscriptions': '0',
  'ws-max-patterns': '0',
  'ws-max-pattern-length': '0',
  'token-log-file': '',
  'token-audit-file': '',
}

/** The core with a clock that stands, turns that end when told to, and clients without sockets. Nothing is started. */
export class TestCore extends Core {
  declare readonly clock: FakeClock
  readonly turn: ManualTurn
  /** Memory of messages under way; overwritten as soon as nobody should need it. */
  readonly arenas: PoisonedArenas
  #connected = 0
  /** Number of SHUTDOWNs that were carried out. */
  shutdowns = 0

  /**
   * @param directives Beyond those of an issuer, see `tokens.ts`; `jwt-issuer` empty is no issuer.
   * @param log Silent by default; `recorded-log.ts` has one that can be read.
   * @param env Secrets of the issuer; by default {@link SECRET}.
   * @param backplane Alone by default; `fake-backplane.ts` has one that the test answers by hand.
   * @param nodeNumber Among the gateways that share revocations.
   * @param control `fake-control.ts` has one that the test answers by hand.
   */
  constructor(
    directives: Directives = {},
    log: Logger = silentLog(),
    env: Readonly<Record<string, string>> = { RESPCAST_CONF_JWT_SECRET: SECRET.toString('latin1') },
    backplane: (registry: Registry) => Backplane = alone,
    nodeNumber: () => number = () => 0,
    control?: Control,
  ) {
    const turn = new ManualTurn()
    const arenas = new PoisonedArenas()
    const issuer: Directives =
      directives['jwt-issuer'] === '' ? {} : { 'jwt-issuer': ISS, 'jwt-audience': AUD }
    const { 'jwt-issuer': _none, ...others } = directives
    super({
      config: settingsOf({ ...UNLIMITED, ...issuer, ...others }, 'jwt-issuer' in issuer ? env : {}),
      clock: new FakeClock(),
      log,
      fetch: noFetch,
      random: () => 0,
      atEndOfTurn: turn.atEndOfTurn,
      shutdown: () => this.shutdowns++,
      arenas,
      backplane,
      nodeNumber,
      ...(control && { control }),
      memory: () => ({ used: 3_000, peak: 4_000, rss: 6_000, startup: 1_000, system: 8_000 }),
    })
    this.turn = turn
    this.arenas = arenas
  }

  /** A connection that was just accepted: RESP2 over TCP, RESP3 over WebSocket. */
  connect(options: ConnectOptions = {}): TestClient {
    const { transport = 'tcp' } = options
    const sink = new RecordingSink(transport === 'websocket')
    const peer = {
      address: options.address ?? `127.0.0.1:${40_001 + this.#connected++}`,
      localAddress: '127.0.0.1:6380',
    }
    const connection =
      transport === 'websocket'
        ? connectWebSocket(
            this,
            { ...peer, listener: options.listener ?? 'public', origin: 'https://app.example' },
            sink,
            options.token,
          )
        : connectTcp(this, { ...peer, transport }, sink)
    if (options.protocol) connection.client.protocol = options.protocol
    return new TestClient(this, connection, sink)
  }

  /** Makes or changes a user; the rules are separated by spaces. */
  setUser(name: string, rules: string): void {
    const result = this.users.setUser(name, rules === '' ? [] : rules.split(' '))
    if ('error' in result) throw new Error(result.error)
  }

  /** CONFIG SET of one directive. */
  set(name: string, value: string): void {
    const error = this.config.set([[name, value]])
    if (error !== undefined) throw new Error(error)
  }
}
