import { connectRaw, connectWebSocket } from '../support/resp-client.ts'
import type { RawClient } from '../support/resp-client.ts'
import { startServer } from '../support/server.ts'
import type { ServerOptions, TestGateway } from '../support/server.ts'

/** A server with a RESP connection to it, and browsers' connections that a test opens. */
export class Bed {
  readonly server: TestGateway
  /** Logged in as the default user. */
  readonly terminal: RawClient
  readonly #sockets: RawClient[] = []

  private constructor(server: TestGateway, terminal: RawClient) {
    this.server = server
    this.terminal = terminal
  }

  /** @param directives As on the command line. */
  static async start(directives: ServerOptions['directives'] = {}): Promise<Bed> {
    const server = await startServer({ directives })
    return new Bed(server, await connectRaw(server.port))
  }

  /** Runs a command whose reply is one line. @returns The line, with its line end. */
  async command(...args: string[]): Promise<string> {
    this.terminal.command(...args)
    return this.terminal.takeUntil('\r\n')
  }

  /** Publishes over TCP. @returns The number of receivers. */
  async publish(channel: string, payload: string): Promise<number> {
    return Number((await this.command('PUBLISH', channel, payload)).slice(1))
  }

  /** Opens a WebSocket as the subject `sub` with the role `member`, and subscribes it. */
  async subscribe(sub: string, ...channels: string[]): Promise<RawClient> {
    const token = await this.server.mint(sub, { roles: ['member'] })
    const { wsUrl, url } = this.server
    const client = await connectWebSocket(wsUrl, { token, origin: url })
    this.#sockets.push(client)
    client.command('SUBSCRIBE', ...channels)
    await client.takeUntil(`${channels.at(-1)}\r\n:${channels.length}\r\n`)
    return client
  }

  /** Closes what {@link subscribe} opened. */
  closeSockets(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy()
  }

  async stop(): Promise<void> {
    this.closeSockets()
    this.terminal.destroy()
    await this.server.stop()
  }
}
