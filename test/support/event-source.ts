import { get, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { get as getSecurely } from 'node:https'

/** One event of a stream. */
export interface ServerEvent {
  /** `message` where the stream names none. */
  readonly event: string
  readonly data: unknown
}

/** A stream of events, or the answer that refused it. */
export class EventSource {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** All that came, as text. */
  text = ''
  /** The stream has ended. */
  isEnded = false
  readonly #response: IncomingMessage
  readonly #request: ClientRequest
  #taken = 0

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.#response = response
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => (this.text += chunk))
    response.on('end', () => (this.isEnded = true))
    // A peer that is cut off has no more to say.
    response.on('error', () => (this.isEnded = true))
  }

  /** Events so far, comments and bare `retry:` left out. */
  get events(): ServerEvent[] {
    return this.text
      .split('\n\n')
      .slice(0, -1)
      .filter((block) => block.includes('data: '))
      .map((block) => ({
        event: /^event: (.*)$/m.exec(block)?.[1] ?? 'message',
        data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null') as unknown,
      }))
  }

  /** Waits for so many further events. @throws Error They did not come within 15 seconds. */
  async take(count: number): Promise<ServerEvent[]> {
    await this.#until(`${count} events`, () => this.events.length >= this.#taken + count)
    const events = this.events.slice(this.#taken, this.#taken + count)
    this.#taken += count
    return events
  }

  /** Waits for the end. @returns The events that were not taken. */
  async ended(): Promise<ServerEvent[]> {
    await this.#until('the end', () => this.isEnded)
    const events = this.events.slice(this.#taken)
    this.#taken += events.length
    return events
  }

  /** Reads no more. */
  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  destroy(): void {
    this.#request.destroy()
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    const deadlineMs = performance.now() + 15_000
    while (!holds()) {
      if (performance.now() > deadlineMs) throw new Error(`no ${what}; got ${this.text}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/**
 * Asks for a stream of events.
 *
 * @param ca Over TLS: the certificate of the authority of the server.
 */
export function openEvents(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  ca?: Buffer,
): Promise<EventSource> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, agent: false } as const
    const answer = (response: IncomingMessage): void => {
      resolve(new EventSource(request, response))
    }
    const request: ClientRequest =
      ca === undefined ? get(options, answer) : getSecurely({ ...options, ca }, answer)
    request.on('error', reject)
  })
}
