import { quoteText } from '../../../shared/words.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import type { Request } from '../../resp/request.ts'
import type { Command } from '../spec.ts'

/** What stands where a secret was. */
export const REDACTED = '(redacted)'

/** Clients that watch all commands (MONITOR). */
export class MonitorFeed {
  readonly #clock: Clock
  readonly #monitors = new Set<Client>()

  constructor(clock: Clock) {
    this.#clock = clock
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

  /** Shows a command that was executed, but for those of administrators. Each monitor gets one whole line. */
  show(client: Client, command: Command, request: Request): void {
    const { flags } = command.spec
    if (flags.includes('admin') || flags.includes('skip_monitor')) return
    const line = Buffer.from(this.#line(client, command, request), 'latin1')
    for (const monitor of this.#monitors) monitor.output.push(line)
  }

  #line(client: Client, command: Command, request: Request): string {
    const micros = Math.floor(this.#clock.wallMs() * 1000)
    const seconds = Math.floor(micros / 1e6)
    const fraction = String(micros % 1e6).padStart(6, '0')
    const { transport, address } = client.origin
    const where = transport === 'unix' ? `unix:${address.replace(/:0$/, '')}` : address
    let line = `+${seconds}.${fraction} [${client.database} ${where}]`
    for (let i = 0; i < request.count; i++) {
      const secret = command.spec.isSecret?.(request, i) ?? false
      line += ` ${quoteText(secret ? REDACTED : request.text(i))}`
    }
    return `${line}\r\n`
  }
}
