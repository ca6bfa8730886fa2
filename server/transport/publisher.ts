import type { Client } from '../client/client.ts'
import { CLOSES } from '../client/close.ts'
import type { Sink, WebSocketClose, Writer } from '../delivery/sink.ts'
import { ArgumentList } from '../resp/request.ts'
import { errorLine } from '../resp/reply-writer.ts'
import type { PublishAnswer } from '../upstream/backplane.ts'
import type { ConnectionHost } from './connection.ts'

const PUBLISH = Buffer.from('PUBLISH')

/** The client was closed before its message was sent. */
const NOT_PUBLISHED: PublishAnswer = 'TRYAGAIN not published'

/** The client was closed before the answer came. */
const UNKNOWN: PublishAnswer = 'TRYAGAIN unknown whether published'

/** Reports whether a message was published, or may have been. */
export function mayBePublished(answer: PublishAnswer): boolean {
  return typeof answer === 'number' || answer === UNKNOWN
}

/** Receives what a {@link ReplySink} is given. */
interface ReplyReader {
  /** @param line A reply without its line end, as a byte string. */
  replied(line: string): void
  /** Nothing more will come. */
  ended(): void
}

/** The socket of a client that has none: it takes the replies of commands that are answered in one line each. */
export class ReplySink implements Sink {
  readonly framed = false
  readonly pendingBytes = 0
  writer: Writer | undefined
  reader: ReplyReader | undefined

  write(buffers: readonly Buffer[]): boolean {
    for (const buffer of buffers) {
      // Whole frames only are written, and none of these is larger than a write.
      const lines = buffer.toString('latin1').split('\r\n')
      for (let i = 0; i < lines.length - 1; i++) this.reader?.replied(lines[i] as string)
    }
    return true
  }

  end(_close: WebSocketClose | undefined): void {
    this.reader?.ended()
  }

  terminate(): void {
    this.reader?.ended()
  }

  pause(): void {}

  resume(): void {}
}

/**
 * A peer that publishes by requests: a client like any other, whose messages take the way of PUBLISH, and which lasts until its
 * connection or its login ends. Its messages are published in their order.
 */
export class Publisher {
  readonly client: Client
  readonly #host: ConnectionHost
  /** Not given to the dispatcher yet. */
  #waiting: ArgumentList[] = []
  /** Messages without an answer, oldest first; the last ones are those that wait. */
  #unanswered: ((answer: PublishAnswer) => void)[] = []
  #isOver = false

  constructor(host: ConnectionHost, client: Client, sink: ReplySink) {
    this.#host = host
    this.client = client
    sink.reader = {
      replied: (line) => this.#replied(line),
      ended: () => this.#ended(),
    }
  }

  /**
   * Publishes one message.
   *
   * @param payload Never changed afterwards.
   */
  publish(channel: Buffer, payload: Buffer): Promise<PublishAnswer> {
    if (this.client.closed) return Promise.resolve(NOT_PUBLISHED)
    return new Promise((resolve) => {
      this.#unanswered.push(resolve)
      this.#waiting.push(new ArgumentList([PUBLISH, channel, payload]))
      this.client.bytesIn += payload.length
      this.#host.counters.bytesIn += payload.length
      if (!this.client.isWaiting) this.#run()
    })
  }

  /** Ends it once all answers are there. */
  end(): void {
    this.client.close(CLOSES.peerEnded)
  }

  /** Its connection is gone. */
  peerClosed(): void {
    this.client.peerClosed()
  }

  #run(): void {
    const { client } = this
    const { clock, dispatcher, flusher } = this.#host
    client.lastHeardMs = clock.monotonicMs()
    dispatcher.startBatch(client.lastHeardMs)
    flusher.hold()
    try {
      while (this.#waiting.length > 0 && !client.closed) {
        const waiting = dispatcher.execute(client, this.#waiting.shift() as ArgumentList)
        // Nobody takes turns here: requests do, before they are let in.
        client.work = 0
        if (waiting) {
          this.#holdFor(waiting)
          return
        }
      }
    } catch (error) {
      this.#failed(error)
    } finally {
      flusher.answer(clock.monotonicMs())
    }
  }

  #holdFor(done: Promise<void>): void {
    this.client.isWaiting = true
    done.then(
      () => {
        this.client.isWaiting = false
        this.#run()
      },
      (error: unknown) => this.#failed(error),
    )
  }

  #replied(line: string): void {
    const answer = line.startsWith(':') ? Number(line.slice(1)) : errorOf(line)
    this.#unanswered.shift()?.(answer)
  }

  #ended(): void {
    if (this.#isOver) return
    this.#isOver = true
    const unanswered = this.#unanswered.splice(0)
    const sent = unanswered.length - this.#waiting.splice(0).length
    for (const [at, resolve] of unanswered.entries()) resolve(at < sent ? UNKNOWN : NOT_PUBLISHED)
    // The end may be told in the midst of the close, and the client table has to know of that first.
    queueMicrotask(() => this.client.peerClosed())
  }

  #failed(error: unknown): void {
    const { id, lastCommand: command } = this.client
    this.#host.log.error({ err: error, id, command }, 'a command failed')
    this.client.close(CLOSES.serverError)
    this.client.output.terminate()
  }
}

/** @param line `-CODE text`. */
function errorOf(line: string): PublishAnswer {
  const space = line.indexOf(' ')
  return errorLine(line.slice(1, space) as 'ERR', line.slice(space + 1))
}
