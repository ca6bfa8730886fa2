import type { Client } from '../client/client.ts'
import { CLOSES } from '../client/close.ts'
import { ArgumentList } from '../resp/request.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { ConnectionHost } from './connection.ts'
import type { EventSink } from './event-sink.ts'
import type { KeepAlive, Pingable } from './keep-alive.ts'

/** A peer that reads events: a client that subscribes once, and is then written to only. */
export class EventStream implements Pingable {
  readonly client: Client
  dueMs = 0
  pingedMs = 0
  readonly #host: ConnectionHost
  readonly #sink: EventSink
  #keepAlive: KeepAlive | undefined

  constructor(host: ConnectionHost, client: Client, sink: EventSink) {
    this.#host = host
    this.client = client
    this.#sink = sink
    // The client table has to know of the end first.
    sink.onRefused = () => queueMicrotask(() => client.peerClosed())
  }

  /**
   * Subscribes to all of the names, or to none.
   *
   * @param names Byte strings.
   * @returns The error line; undefined if it has subscribed, or was closed.
   */
  async subscribe(
    command: 'SUBSCRIBE' | 'PSUBSCRIBE',
    names: readonly string[],
  ): Promise<ErrorLine | undefined> {
    const { client } = this
    const { clock, dispatcher } = this.#host
    client.lastHeardMs = clock.monotonicMs()
    dispatcher.startBatch(client.lastHeardMs)
    client.isWaiting = true
    try {
      await dispatcher.execute(client, ArgumentList.of(command, ...names))
    } catch (error) {
      const { id, lastCommand } = client
      this.#host.log.error({ err: error, id, command: lastCommand }, 'a command failed')
      client.close(CLOSES.serverError)
    }
    client.isWaiting = false
    return this.#sink.error as ErrorLine | undefined
  }

  /** Writes what there is, and what comes: the head of the response has been written. */
  open(keepAlive: KeepAlive): void {
    this.#keepAlive = keepAlive
    keepAlive.add(this)
    this.#sink.open()
  }

  ping(): void {
    this.#sink.ping()
  }

  /** Nobody answers a comment, so that a peer is never silent for too long. */
  lastHeardMs(): number {
    return Number.POSITIVE_INFINITY
  }

  dead(): void {}

  /** Its connection is gone. */
  peerClosed(): void {
    this.#keepAlive?.remove(this)
    this.client.peerClosed()
  }
}
