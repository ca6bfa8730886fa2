import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Core } from '../core.ts'
import { refusalOfPlace, type Entrance } from './entrance.ts'
import { fail, failureOf } from './failure.ts'

/** Time for which a browser need not ask again, in seconds. */
const MAX_AGE_SECONDS = 600

const HEADERS = 'authorization, content-type, idempotency-key'

/** Lets the page of a request, whose origin was allowed, read the answer (Fetch standard, CORS protocol). */
export function allowPage(
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  { config }: Core,
): void {
  if (origin === undefined) return
  void reply.headers({ 'access-control-allow-origin': origin, vary: 'origin' })
  // Tokens in headers need no credentials of the browser's own.
  if (config.text('ws-token-cookie') !== '') {
    void reply.header('access-control-allow-credentials', 'true')
  }
}

/** Answers the question of a browser whether a page of another origin may send a request. */
export function answerPreflight(
  request: FastifyRequest,
  reply: FastifyReply,
  entrance: Entrance,
  method: string,
): FastifyReply {
  const refusal = refusalOfPlace(request, entrance)
  if (refusal) return fail(entrance.core, reply, failureOf(refusal), true)
  allowPage(request, reply, entrance.core)
  return reply
    .headers({
      'access-control-allow-methods': method,
      'access-control-allow-headers': HEADERS,
      'access-control-max-age': String(MAX_AGE_SECONDS),
    })
    .code(204)
    .send()
}
