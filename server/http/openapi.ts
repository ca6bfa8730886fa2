import { RESPCAST_VERSION } from '../version.ts'
import { MOST_MESSAGES } from './messages.ts'

/** Values in JSON. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

interface Paths {
  /** `http-publish-path`, `http-events-path`; empty is nowhere. */
  readonly publish: string
  readonly events: string
}

const ERROR = { $ref: '#/components/schemas/Error' }
const MESSAGE = { $ref: '#/components/schemas/Message' }
const RECEIVERS = { $ref: '#/components/schemas/Receivers' }

/** What each status means, of those that both kinds of requests have. */
const FAILURES = {
  400: 'The request cannot be read, or a name is too long or reserved (BADREQUEST, ERR).',
  401: 'Nobody, or somebody who cannot log in (NOAUTH, WRONGPASS).',
  403: 'Not with these permissions, or not from this page (NOPERM, FORBIDDEN).',
  429: 'Too fast, or too many connections (TOOFAST, ERR). Retry-After says when to come back.',
  503: 'No room, or the upstream cannot be reached (NOROOM, TRYAGAIN).',
} as const

const PUBLISH_FAILURES = {
  ...FAILURES,
  413: 'The body is larger than http-max-payload (TOOLARGE).',
  415: 'The body is compressed (UNSUPPORTED).',
  422: 'The Idempotency-Key was used for another message (KEYREUSED).',
} as const

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Of two requests with the same key by the same user one publishes, and both have its answer.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

/** The OpenAPI document of the requests that publish, and of streams of events. */
export function openApiDocument({ publish, events }: Paths): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Respcast',
      version: RESPCAST_VERSION,
      description: 'Pub/Sub by requests: publishing, and messages as server-sent events.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ token: [] }, { password: [] }],
    paths: {
      ...(publish === '' ? {} : { [`${publish}/{channel}`]: PUBLISH_ONE, [publish]: PUBLISH_LIST }),
      ...(events === '' ? {} : { [events]: EVENTS }),
    },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        password: { type: 'http', scheme: 'basic', description: 'With ws-password-auth only.' },
      },
      schemas: SCHEMAS,
    },
  }
}

const PUBLISH_ONE = {
  post: {
    operationId: 'publish',
    summary: 'Publishes one message.',
    parameters: [
      {
        name: 'channel',
        in: 'path',
        required: true,
        description: 'Any bytes, percent-encoded; slashes need not be.',
        schema: { type: 'string', minLength: 1 },
      },
      IDEMPOTENCY_KEY,
    ],
    requestBody: { description: 'The payload: any bytes.', content: { '*/*': {} } },
    responses: {
      200: jsonOf('Published.', RECEIVERS),
      ...failuresOf(PUBLISH_FAILURES),
    },
  },
}

const PUBLISH_LIST = {
  post: {
    operationId: 'publishAll',
    summary: 'Publishes messages in their order.',
    parameters: [IDEMPOTENCY_KEY],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            oneOf: [{ type: 'array', items: MESSAGE, maxItems: MOST_MESSAGES }, MESSAGE],
          },
        },
      },
    },
    responses: {
      200: jsonOf('What became of each.', {
        type: 'object',
        required: ['results'],
        properties: { results: { type: 'array', items: { oneOf: [RECEIVERS, ERROR] } } },
        additionalProperties: false,
      }),
      ...failuresOf(PUBLISH_FAILURES),
    },
  },
}

const EVENTS = {
  get: {
    operationId: 'events',
    summary: 'Subscribes, to all of the names or to none, and streams the messages.',
    parameters: [
      namesOf('channel', 'Channels: any bytes, percent-encoded.'),
      namesOf('pattern', 'Patterns, as of PSUBSCRIBE.'),
      {
        name: 'login',
        in: 'query',
        description: 'Asks for no names: the stream tells of the login only.',
        allowEmptyValue: true,
        schema: { type: 'string', maxLength: 0 },
      },
      {
        name: 'token',
        in: 'query',
        description: 'A token, with ws-token-query only.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: {
        description:
          'A message is an event without a name, whose data is a MessageEvent in JSON. Other events: subscribed, unsubscribed, token, gap, close.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      ...failuresOf(FAILURES),
    },
  },
}

const SCHEMAS = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'string', pattern: '^[A-Z]+$' },
          message: { type: 'string' },
        },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  },
  Receivers: {
    type: 'object',
    required: ['receivers'],
    properties: {
      receivers: { type: 'integer', minimum: 0, description: 'As PUBLISH counts them.' },
    },
    additionalProperties: false,
  },
  Message: {
    type: 'object',
    properties: textOrBytes('channel', 'payload'),
    oneOf: eitherOf('channel', 'payload'),
  },
  MessageEvent: {
    type: 'object',
    properties: textOrBytes('pattern', 'channel', 'payload'),
    oneOf: eitherOf('channel', 'payload'),
    additionalProperties: false,
  },
} satisfies Record<string, Json>

function jsonOf(description: string, schema: Json): Json {
  return { description, content: { 'application/json': { schema } } }
}

function failuresOf(failures: Readonly<Record<number, string>>): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.entries(failures).map(([status, description]) => [status, jsonOf(description, ERROR)]),
  )
}

function namesOf(name: string, description: string): Json {
  const schema = { type: 'array', items: { type: 'string' } }
  return { name, in: 'query', description, style: 'form', explode: true, schema }
}

/** Each as text, and as bytes in base64. */
function textOrBytes(...names: readonly string[]): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    names.flatMap((name) => [
      [name, { type: 'string' }],
      [`b64${name}`, { type: 'string', contentEncoding: 'base64' }],
    ]),
  )
}

/** One or the other of each of two. */
function eitherOf(one: string, other: string): readonly Json[] {
  return [one, `b64${one}`].flatMap((first) =>
    [other, `b64${other}`].map((second) => ({ required: [first, second] })),
  )
}
