import { connect, type Socket } from 'node:net'
import { encodeCommand, type CommandArgument } from '../../shared/resp/command.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import { isPush, type RespPush, type RespValue } from '../../shared/resp/types.ts'
import type { Reply } from '../../server/upstream/link/command-link.ts'
import type { ControlLine } from '../../server/upstream/control-line.ts'

/** One connection to a server, as far as a store uses a line. */
export class DirectLine implements Pick<ControlLine, 'ask' | 'publishCommand'> {
  readonly publishCommand: ControlLine['publishCommand']
  readonly pushes: RespPush[] = []
  /** Called with the commands that have been asked, after they were written. */
  afterAsk: (args: readonly CommandArgument[]) => void = () => {}
  readonly #port: number
  readonly #host: string
  #socket: Socket
  #missing: Reply[] = []

  constructor(
    port: number,
    publishCommand: ControlLine['publishCommand'] = 'PUBLISH',
    host = '127.0.0.1',
  ) {
    this.#port = port
    this.#host = host
    this.publishCommand = publishCommand
    this.#socket = this.#connect()
  }

  ask(reply: Reply, ...args: readonly CommandArgument[]): void {
    this.#missing.push(reply)
    this.#socket.write(encodeCommand(args))
    this.afterAsk(args)
  }

  /** The reply of one command. */
  answer(...args: readonly CommandArgument[]): Promise<RespValue | undefined> {
    return new Promise((resolve) =>
      this.ask({ answered: resolve, lost: () => resolve(undefined) }, ...args),
    )
  }

  /** Subscribes to a channel; settles when that is confirmed. */
  async listen(command: 'SUBSCRIBE' | 'SSUBSCRIBE', channel: string): Promise<void> {
    this.#socket.write(encodeCommand([command, channel]))
    await this.answer('PING')
  }

  /** Loses the answers that are missing, though the server carries everything out, and connects again. */
  lose(): void {
    this.close()
    this.#socket = this.#connect()
  }

  close(): void {
    this.#socket.end()
    const missing = this.#missing
    this.#missing = []
    for (const reply of missing) reply.lost(true)
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: this.#host, noDelay: true })
    const reader = new RespReader()
    socket.on('data', (chunk) => {
      if (socket !== this.#socket) return
      reader.push(chunk)
      for (let value = reader.next(); value !== undefined; value = reader.next()) {
        if (isPush(value)) this.pushes.push(value)
        else this.#missing.shift()?.answered(value)
      }
    })
    socket.on('error', () => {})
    this.#missing = [{ answered: () => {}, lost: () => {} }]
    socket.write(encodeCommand(['HELLO', '3']))
    return socket
  }
}
