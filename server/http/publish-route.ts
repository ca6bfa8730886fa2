import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Core } from '../core.ts'
import { mayBePublished, type Publisher } from '../transport/publisher.ts'
import { AddressRates, PeerRates } from '../transport/peer-rates.ts'
import type { PublishAnswer } from '../upstream/backplane.ts'
import { collectBody } from './body.ts'
import { allowPage, answerPreflight } from './cors.ts'
import { refusalOfRequest, type Entrance } from './entrance.ts'
import { fail, failureOf, failureOfLine, type Failure } from './failure.ts'
import { peerAddress } from './headers.ts'
import { IdempotentAnswers } from './idempotency.ts'
import { readMessages, type Message } from './messages.ts'
import { percentDecoded } from './percent.ts'
import { Publishers } from './publishers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request that publishes. */
    publisher: Publisher | undefined
  }
}

/** A request whose path was replaced. */
interface Renamed {
  originalUrl?: string
}

/** Longest idempotency key. */
const LONGEST_KEY = 255

const TOO_FAST = {
  status: 429,
  code: 'TOOFAST',
  message: 'too many messages',
  headers: { 'retry-after': '1' },
} as const satisfies Failure

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Publishing by requests: `POST <path>/<channel>`, whose body is the payload, and `POST <path>` with messages in JSON.
 *
 * A request logs in as a WebSocket does at its upgrade, and its message goes the way of PUBLISH.
 */
export async function openPublishRoute(
  app: FastifyInstance,
  entrance: Entrance,
  path: string,
): Promise<void> {
  const route = new PublishRoute(entrance, path)
  // The router decodes paths as UTF-8, which channels need not be.
  app.server.prependListener('request', (request: IncomingMessage & Renamed) => {
    const { url = '' } = request
    if (!url.startsWith(`${path}/`)) return
    request.originalUrl = url
    request.url = `${path}/-`
  })
  // What is registered here holds here alone, also in an application that embeds the server.
  await app.register(async (scope) => {
    scope.decorateRequest('publisher', undefined)
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (request, payload, done) => {
      collectBody(payload, entrance.core.config.memory('http-max-payload'), (body) =>
        done(null, body ?? null),
      )
    })
    for (const [url, handle] of [
      [path, route.publishList],
      [`${path}/:channel`, route.publishOne],
    ] as const) {
      scope.options(url, (request, reply) => answerPreflight(request, reply, entrance, 'POST'))
      scope.post(url, { onRequest: route.enter, handler: handle })
    }
  })
}

class PublishRoute {
  readonly #entrance: Entrance
  readonly #core: Core
  readonly #path: string
  readonly #publishers: Publishers
  readonly #byAddress = new AddressRates()
  readonly #byUser = new PeerRates()
  readonly #answers = new IdempotentAnswers<readonly PublishAnswer[]>((answers) =>
    answers.some(mayBePublished),
  )

  constructor(entrance: Entrance, path: string) {
    this.#entrance = entrance
    this.#core = entrance.core
    this.#path = path
    this.#publishers = new Publishers(entrance)
  }

  /** Lets a request in, before its body is read. */
  readonly enter = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const ip = peerAddress(request)
    const failure = this.#refusal(request, reply, ip)
    if (failure) {
      void fail(this.#core, reply, failure)
      return
    }
    request.publisher = this.#publishers.known(request, ip)
    if (request.publisher) {
      done()
      return
    }
    void this.#login(request, reply, ip, done)
  }

  async #login(
    request: FastifyRequest,
    reply: FastifyReply,
    ip: string,
    done: () => void,
  ): Promise<void> {
    const result = await this.#publishers.login(request, ip)
    if ('status' in result) {
      void fail(this.#core, reply, result)
      return
    }
    request.publisher = result
    done()
  }

  #refusal(request: FastifyRequest, reply: FastifyReply, ip: string): Failure | undefined {
    const { clock, config } = this.#core
    const refusal = refusalOfRequest(request, this.#entrance)
    if (refusal) return failureOf(refusal)
    allowPage(request, reply, this.#core)
    const perSecond = config.integer('http-publish-rate-per-ip')
    if (!this.#byAddress.admits(ip, perSecond, clock.monotonicMs())) return TOO_FAST
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding === 'identity') return undefined
    return { status: 415, code: 'UNSUPPORTED', message: 'the body may not be compressed' }
  }

  readonly publishOne = (request: FastifyRequest, reply: FastifyReply): void => {
    const [path = ''] = request.originalUrl.split('?', 1)
    const name = percentDecoded(path.slice(this.#path.length + 1))
    if (name === undefined || name === '') {
      const message = name === '' ? 'a channel is needed' : 'the channel has a bad percent-encoding'
      void fail(this.#core, reply, badRequest(message), true)
      return
    }
    const payload = bodyOf(request)
    if (payload === undefined) {
      void fail(this.#core, reply, this.#tooLarge())
      return
    }
    this.#publish(
      request,
      reply,
      [{ channel: Buffer.from(name, 'latin1'), payload }],
      (answers) => {
        const [answer = 0] = answers
        if (typeof answer === 'number') void reply.type(JSON_TYPE).send(`{"receivers":${answer}}`)
        else void fail(this.#core, reply, failureOfLine(answer), true)
      },
    )
  }

  readonly publishList = (request: FastifyRequest, reply: FastifyReply): void => {
    const body = bodyOf(request)
    if (body === undefined) {
      void fail(this.#core, reply, this.#tooLarge())
      return
    }
    const messages = readMessages(body)
    if (typeof messages === 'string') {
      void fail(this.#core, reply, badRequest(messages), true)
      return
    }
    this.#publish(request, reply, messages, (answers) => {
      void reply.send({ results: answers.map(resultOf) })
    })
  }

  #publish(
    request: FastifyRequest,
    reply: FastifyReply,
    messages: readonly Message[],
    send: (answers: readonly PublishAnswer[]) => void,
  ): void {
    const { clock, config } = this.#core
    const publisher = request.publisher as Publisher
    const { name: user } = publisher.client.identity.user
    const nowMs = clock.monotonicMs()
    const isWithin =
      messages.length === 0 ||
      this.#byUser.admits(
        user,
        config.integer('http-publish-rate-per-user'),
        nowMs,
        messages.length,
      )
    if (!isWithin) {
      void fail(this.#core, reply, TOO_FAST, true)
      return
    }
    const publishAll = (): Promise<readonly PublishAnswer[]> =>
      Promise.all(messages.map(({ channel, payload }) => publisher.publish(channel, payload)))
    const key = request.headers['idempotency-key']
    const windowMs = config.seconds('http-idempotency-window') * 1000
    if (key === undefined || windowMs === 0) {
      void publishAll().then(send)
      return
    }
    if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY) {
      void fail(
        this.#core,
        reply,
        badRequest(`an Idempotency-Key has 1 to ${LONGEST_KEY} characters`),
        true,
      )
      return
    }
    const once = this.#answers.once(
      { user, key, print: printOf(messages) },
      { nowMs, windowMs },
      publishAll,
    )
    if (once === 'other-request') {
      const message = 'this Idempotency-Key was used for another message'
      void fail(this.#core, reply, { status: 422, code: 'KEYREUSED', message }, true)
      return
    }
    if (once.isRepeated) void reply.header('idempotent-replayed', 'true')
    void once.answer.then(send)
  }

  #tooLarge(): Failure {
    const most = this.#core.config.memory('http-max-payload')
    return { status: 413, code: 'TOOLARGE', message: `the body has more than ${most} bytes` }
  }
}

function badRequest(message: string): Failure {
  return { status: 400, code: 'BADREQUEST', message }
}

/** @returns Undefined if it was too large; empty for a request that brought none. */
function bodyOf({ body }: FastifyRequest): Buffer | undefined {
  if (body === undefined) return Buffer.alloc(0)
  return body === null ? undefined : (body as Buffer)
}

function resultOf(answer: PublishAnswer): object {
  if (typeof answer === 'number') return { receivers: answer }
  const { code, message } = failureOfLine(answer)
  return { error: { code, message } }
}

/** What messages are told apart by: their bytes, and where each begins. */
function printOf(messages: readonly Message[]): string {
  const hash = createHash('sha256')
  for (const { channel, payload } of messages) {
    hash.update(`${channel.length} ${payload.length} `).update(channel).update(payload)
  }
  return hash.digest('base64')
}
