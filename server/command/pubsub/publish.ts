import type { Client } from '../../client/client.ts'
import { PublishesInFlight } from '../../client/in-flight.ts'
import type { Gate } from '../../delivery/gates.ts'
import type { Payload } from '../../delivery/segment.ts'
import type { PublishSpace } from '../../pubsub/registry.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { PublishAnswer } from '../../upstream/backplane.ts'
import type { CommandContext, Services } from '../context.ts'
import { channelTooLong } from '../error-texts.ts'
import type { Handler } from '../spec.ts'
import type { Command } from '../table.ts'

/** The message of PUBLISH. Its bytes lie in the request; a buffer is made only if one has to be kept. */
export class RequestPayload implements Payload {
  readonly length: number
  readonly #request: Request
  #kept: Buffer | undefined

  constructor(request: Request) {
    this.#request = request
    this.length = request.length(2)
  }

  copy(target: Buffer, at: number): void {
    this.#request.copy(2, target, at)
  }

  kept(): Buffer {
    return (this.#kept ??= this.#request.kept(2))
  }
}

/** Bytes of messages to subscribers that are as much work as a command is at least. Subscribers share most of it. */
const DELIVERED_BYTES_PER_WORK = 65_536

const NEVER_CALLED = (): void => {}

/** The reply of a PUBLISH that the upstream answers later, while its client goes on to publish. */
class LaterAnswer {
  readonly #client: Client
  readonly #server: Services
  readonly #command: Command
  readonly #reply: ReplyWriter
  readonly #payloadBytes: number
  /** Undefined where CLIENT REPLY drops the reply. */
  #place: Gate | undefined

  constructor(context: CommandContext, payloadBytes: number) {
    this.#client = context.client
    this.#server = context.server
    this.#command = context.command
    this.#reply = context.laterReply
    this.#payloadBytes = payloadBytes
  }

  /** Keeps the place of the reply, and counts the message as under way. */
  begin(): void {
    const client = this.#client
    if (!client.isSilent) this.#place = client.output.reserve()
    client.inFlight ??= new PublishesInFlight()
    client.inFlight.add(this.#payloadBytes)
  }

  readonly done = (answer: PublishAnswer): void => {
    const reply = this.#reply
    reply.begin(this.#client.protocol)
    if (typeof answer === 'number') {
      countPublished(this.#client, this.#server, answer, this.#payloadBytes)
      reply.integer(answer)
    } else {
      this.#command.failedCalls++
      reply.error(answer)
    }
    if (this.#place) this.#client.output.fill(this.#place, reply)
    this.#client.inFlight?.remove(this.#payloadBytes)
  }
}

/** Counts a message that was published, and the work of giving it to its receivers. */
export function countPublished(
  client: Client,
  { counters }: Pick<Services, 'counters'>,
  receivers: number,
  payloadBytes: number,
): void {
  if (receivers > 0) {
    client.work += Math.floor((receivers * payloadBytes) / DELIVERED_BYTES_PER_WORK)
  }
  counters.messagesPublished++
  counters.messagesDelivered += receivers
}

/** PUBLISH and SPUBLISH. */
export function publish(space: PublishSpace): Handler {
  return (context, request) => {
    const { client, server, reply } = context
    const { maxChannelBytes } = client.limits
    if (request.length(1) > maxChannelBytes) {
      reply.error(channelTooLong(maxChannelBytes))
      return
    }
    const payload = new RequestPayload(request)
    const key = request.name(1)
    const answer = server.backplane.isAlone
      ? server.backplane.publish(space, key, payload, NEVER_CALLED)
      : publishUpstream(context, space, key, request, payload)
    if (typeof answer !== 'number') {
      if (answer !== undefined) reply.error(answer)
      return
    }
    countPublished(client, server, answer, payload.length)
    reply.integer(answer)
  }
}

/** @returns The answer; undefined if it comes later, into its place in the output. */
function publishUpstream(
  context: CommandContext,
  space: PublishSpace,
  key: string,
  request: Request,
  payload: Payload,
): PublishAnswer | undefined {
  const { backplane } = context.server
  const refused = backplane.refuses(key)
  if (refused !== undefined) return refused
  if (context.inTransaction) {
    return context.prepared?.answers.get(request) ?? 'TRYAGAIN not published'
  }
  const later = new LaterAnswer(context, payload.length)
  const answer = backplane.publish(space, key, payload, later.done)
  if (answer === undefined) later.begin()
  return answer
}
