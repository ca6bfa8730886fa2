import { quoteText } from '../../../shared/words.ts'
import type { Client } from '../../client/client.ts'
import type { ClientTable } from '../../client/clients.ts'
import type { Clock } from '../../clock.ts'
import type { Request } from '../../resp/request.ts'
import { ADMIN } from '../container.ts'
import type { CommandData } from '../spec.ts'
import type { Command } from '../table.ts'

/** Bytes of an argument that a line shows. */
const SHOWN_BYTES = 16_777_216

/** A line of so few pieces is one string, at most 320 MB of it. */
const FEW_PIECES = 7

/** An argument in quotes, with the number of bytes that are left out. */
function quoted(text: string): string {
  if (text.length <= SHOWN_BYTES) return quoteText(text)
  const rest = text.length - SHOWN_BYTES
  return `${quoteText(text.slice(0, SHOWN_BYTES))}... (${rest} more bytes)`
}

/** The clients in MONITOR, and the lines that they are sent. */
export class MonitorFeed {
  readonly #clock: Clock
  readonly #monitors = new Set<Client>()

  constructor(clock: Clock, clients: ClientTable) {
    this.#clock = clock
    clients.onClosed((client) => this.delete(client))
  }

  get size(): number {
    return this.#monitors.size
  }

  has(client: Client): boolean {
    return this.#monitors.size > 0 && this.#monitors.has(client)
  }

  add(client: Client): void {
    client.isMonitor = true
    this.#monitors.add(client)
  }

  delete(client: Client): void {
    client.isMonitor = false
    this.#monitors.delete(client)
  }

  /** Sends a line about a command that was executed to each monitor, unless it is one of administrators. */
  show(client: Client, command: Command, request: Request): void {
    const { flags } = command.spec
    if (flags.includes('admin') || flags.includes('skip_monitor')) return
    const line = this.#line(client, command, request)
    for (const monitor of this.#monitors) {
      if (hears(monitor, client)) monitor.output.push(line)
    }
  }

  #line(client: Client, command: Command, request: Request): Buffer {
    const micros = Math.floor(this.#clock.wallMs() * 1000)
    const seconds = Math.floor(micros / 1e6)
    const fraction = String(micros % 1e6).padStart(6, '0')
    const { transport, address } = client.origin
    const where = transport === 'unix' ? `unix:${address.replace(/:0$/, '')}` : address
    // In pieces: a string of V8 holds 512 MB.
    const pieces = [`+${seconds}.${fraction} [${client.database} ${where}]`]
    for (let i = 0; i < request.count; i++) pieces.push(` ${quoted(command.shown(request, i))}`)
    pieces.push('\r\n')
    return pieces.length <= FEW_PIECES
      ? Buffer.from(pieces.join(''), 'latin1')
      : Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'latin1')))
  }
}

/** Reports whether CLIENT REPLY lets a monitor have its lines. SKIP begins after the command that says so. */
function hears(monitor: Client, sender: Client): boolean {
  const { replyMode } = monitor
  return replyMode === 'on' || (replyMode === 'skip-next' && monitor === sender)
}

/** MONITOR. */
export const monitor: CommandData = {
  ...ADMIN,
  arity: 1,
  since: '1.0.0',
  summary: 'Shows every command from now on, until RESET.',
  complexity: 'O(1)',
  handler: ({ client, reply, server, inTransaction }) => {
    if (inTransaction) {
      reply.error("ERR MONITOR isn't allowed for DENY BLOCKING client")
      return
    }
    // Redis does not answer a client that is already in MONITOR.
    if (client.isMonitor) return
    server.monitors.add(client)
    reply.ok()
  },
}
