import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hostAndPort, LocalAddress } from '../addresses.ts'
import { CLOSES } from '../client/close.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import { EventSink } from '../transport/event-sink.ts'
import type { EventStream } from '../transport/event-stream.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import { connectEvents } from '../transport/reception.ts'
import { authenticate } from './authenticate.ts'
import { allowPage, answerPreflight } from './cors.ts'
import { refusalOfRate, refusalOfRequest, rejectionRefusal, type Entrance } from './entrance.ts'
import { fail, failureOf, failureOfLine, type Failure } from './failure.ts'
import { peerAddress } from './headers.ts'
import { percentDecoded } from './percent.ts'

/** Time after which an EventSource comes back by itself, in ms; the close event of a stream may say otherwise. */
const RETRY_MS = 3_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would collect events otherwise.
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
  connection: 'close',
}

/** The names that a stream subscribes to, as byte strings. */
export interface EventNames {
  readonly channels: readonly string[]
  readonly patterns: readonly string[]
}

/**
 * Reads `channel=` and `pattern=`, each any number of times, from a query string; or `login`, which asks for none.
 *
 * @returns The reason why it cannot be served, as a sentence for the peer.
 */
export function readEventNames(query: string): EventNames | string {
  const channels: string[] = []
  const patterns: string[] = []
  const parts = query.split('&')
  for (const part of parts) {
    const [, field, encoded = ''] = /^(channel|pattern)=(.*)$/s.exec(part) ?? []
    if (field === undefined) continue
    const name = percentDecoded(encoded, true)
    if (name === undefined) return `a ${field} has a bad percent-encoding`
    if (field === 'channel') channels.push(name)
    else patterns.push(name)
  }
  return channels.length + patterns.length > 0 || parts.includes('login')
    ? { channels, patterns }
    : 'a channel or a pattern is needed'
}

interface EventsRoute extends Entrance {
  readonly keepAlive: KeepAlive
  readonly local: LocalAddress
}

/** Opens `GET <path>?channel=…&pattern=…`: the messages of these as server-sent events. */
export function openEventsRoute(
  app: FastifyInstance,
  options: Entrance & { readonly keepAlive: KeepAlive },
  path: string,
): void {
  const route: EventsRoute = { ...options, local: new LocalAddress() }
  app.options(path, (request, reply) => answerPreflight(request, reply, route, 'GET'))
  app.route({
    method: 'GET',
    url: path,
    exposeHeadRoute: false,
    handler: (request, reply) => {
      void serve(request, reply, route)
    },
  })
}

async function serve(
  request: FastifyRequest,
  reply: FastifyReply,
  route: EventsRoute,
): Promise<void> {
  const { core } = route
  const stream = await begin(request, reply, route)
  if ('status' in stream) {
    if (!reply.raw.destroyed) void fail(core, reply, stream)
    return
  }
  const { socket } = request.raw
  const { raw } = reply
  reply.hijack()
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...HEADERS })) {
    if (value !== undefined) raw.setHeader(name, value)
  }
  // The end of the connection ends the stream: chunks would need a header of their own for each client.
  raw.removeHeader('transfer-encoding')
  raw.writeHead(200)
  raw.write(`retry: ${RETRY_MS}\n\n`)
  socket.setTimeout(0)
  socket.setNoDelay(true)
  route.waiting?.release(socket)
  stream.open(route.keepAlive)
}

/** Makes a client of a request, logs it in, and subscribes it. */
async function begin(
  request: FastifyRequest,
  reply: FastifyReply,
  route: EventsRoute,
): Promise<EventStream | Failure> {
  const { core } = route
  const ip = peerAddress(request)
  const { socket } = request.raw
  const refusal = refusalOfRequest(request, route)
  if (refusal) return failureOf(refusal)
  allowPage(request, reply, core)
  const names = readEventNames(request.originalUrl.split('?').slice(1).join('?'))
  if (typeof names === 'string') return { status: 400, code: 'BADREQUEST', message: names }
  // Answers before it are still on their way, and events would mix with them.
  if (reply.raw.socket === null) {
    return { status: 400, code: 'BADREQUEST', message: 'a stream needs a connection of its own' }
  }
  const tooFast = refusalOfRate(request, ip, route)
  if (tooFast) return failureOf(tooFast)
  const rejection = core.admission.admit({ transport: 'sse', ip, listener: 'public' })
  if (rejection) return failureOf(rejectionRefusal(rejection))
  const sink = new EventSink(socket)
  const stream = connectEvents(
    core,
    {
      listener: 'public',
      address: hostAndPort(ip, socket.remotePort ?? 0),
      localAddress: route.local.of(socket),
      origin: request.headers.origin,
    },
    sink,
  )
  core.admission.joined(stream.client, ip)
  socket.once('close', () => stream.peerClosed())
  const failure =
    (await authenticate(core, request, stream.client, { query: true })) ??
    (await subscribe(stream, names))
  if (failure) {
    stream.client.close(CLOSES.quit)
    return failure
  }
  return stream
}

async function subscribe(
  stream: EventStream,
  { channels, patterns }: EventNames,
): Promise<Failure | undefined> {
  let error: ErrorLine | undefined
  if (channels.length > 0) error = await stream.subscribe('SUBSCRIBE', channels)
  if (patterns.length > 0 && error === undefined) {
    error = await stream.subscribe('PSUBSCRIBE', patterns)
  }
  if (error !== undefined) return failureOfLine(error)
  const { client } = stream
  return client.closed ? failureOf(rejectionRefusal('maxclients')) : undefined
}
