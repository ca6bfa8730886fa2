import * as arg from '../argument.ts'
import type { AclLogEvent } from '../../acl/log.ts'
import { CLOSES } from '../../client/close.ts'
import type { Credentials, FailedLogin } from '../../client/login.ts'
import { errorLine, type Protocol, type ErrorLine } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { nameError, parseInteger } from '../arguments.ts'
import type { CommandContext } from '../context.ts'
import { wrongArity, NOT_AN_INTEGER, SYNTAX_ERROR, TOKEN_IN_MULTI } from '../error-texts.ts'
import { inSlices } from '../slices.ts'
import type { CommandData, CommandRecord, Completion } from '../spec.ts'

const HELLO_NEEDS_AUTH = errorLine(
  'NOAUTH',
  'HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> ' +
    'option can be used to authenticate the client and select the RESP protocol version at the same time',
)

const NO_PROTOCOL = 'NOPROTO unsupported protocol version'

function auth(context: CommandContext, request: Request): void | Promise<Completion> {
  const { client, reply, server } = context
  const credentials = authCredentials(context, request)
  const word = request.text(0)
  if (credentials.kind === 'none') {
    reply.error(credentials.error)
    return
  }
  if (credentials.kind === 'token') {
    return loginByToken(context, credentials.token, word, ({ reply: later }) => later.ok())
  }
  const failure = server.login.byPassword(client, credentials, word, aclLogContext(context))
  if (failure) return refuse(context, failure)
  reply.ok()
}

/** Answers a failed login when that is due. EXEC cannot wait, see {@link Login.byPassword}. */
function refuse(context: CommandContext, failure: FailedLogin): void | Promise<Completion> {
  const answer = ({ client, reply }: CommandContext): void => {
    reply.error(failure.error)
    if (failure.cause) client.close(failure.cause)
  }
  if (failure.waitMs > 0 && !context.inTransaction) {
    return context.server.login.waited(failure.waitMs).then(() => answer)
  }
  answer(context)
}

/** The credentials of AUTH, or the error of its form. */
function authCredentials({ server }: CommandContext, request: Request): Credentials {
  if (request.count > 3) return { kind: 'none', error: SYNTAX_ERROR }
  return request.count === 2
    ? server.login.read(undefined, request.text(1))
    : server.login.read(request.text(1), request.text(2))
}

/** Logs in with a token, then has `answer` write the reply; the pushes for lost subscriptions precede it. */
async function loginByToken(
  { client, server }: CommandContext,
  token: string,
  word: string,
  answer: (context: CommandContext) => void,
): Promise<Completion> {
  const verdict = await server.login.verify(client, token)
  return (context) => {
    const { reply } = context
    const login = server.login.settle(client, verdict, word)
    if ('error' in login) {
      reply.error(login.error)
      return
    }
    for (const push of login.pushes) {
      // CLIENT REPLY drops replies, but no push.
      if (client.replyMode === 'on') reply.raw(push)
      else client.output.push(push)
    }
    answer(context)
  }
}

/** Refuses a token inside MULTI: EXEC cannot wait for its verification. */
function refuseTokenInMulti(credentials: Credentials | undefined): ErrorLine | undefined {
  return credentials?.kind === 'token' ? TOKEN_IN_MULTI : undefined
}

function aclLogContext({ client, inTransaction }: CommandContext): AclLogEvent['context'] {
  return client.transaction || inTransaction ? 'multi' : 'toplevel'
}

/** HELLO's options, parsed before any change. */
interface HelloOptions {
  readonly protocol: Protocol | undefined
  readonly credentials: Credentials | undefined
  readonly name: string | undefined
}

function readHello(context: CommandContext, request: Request): HelloOptions | { error: ErrorLine } {
  let protocol: Protocol | undefined
  if (request.count > 1) {
    const version = parseInteger(request.text(1))
    if (version === undefined)
      return { error: 'ERR Protocol version is not an integer or out of range' }
    if (version !== 2 && version !== 3) return { error: NO_PROTOCOL }
    if (version === 2 && context.client.isWebSocket) return { error: NO_PROTOCOL }
    protocol = version
  }
  let credentials: Credentials | undefined
  let name: string | undefined
  for (let i = 2; i < request.count; i++) {
    const option = request.text(i)
    const left = request.count - i - 1
    const word = option.toLowerCase()
    if (word === 'auth' && left >= 2) {
      credentials = context.server.login.read(request.text(i + 1), request.text(i + 2))
      i += 2
    } else if (word === 'setname' && left >= 1) {
      name = request.text(i + 1)
      const error = nameError(context.client, name)
      if (error !== undefined) return { error }
      i++
    } else {
      return { error: `ERR Syntax error in HELLO option '${option}'` }
    }
  }
  return { protocol, credentials, name }
}

function hello(context: CommandContext, request: Request): void | Promise<Completion> {
  const { client, reply, server } = context
  const options = readHello(context, request)
  if ('error' in options) {
    reply.error(options.error)
    return
  }
  const word = request.text(0)
  const { credentials } = options
  if (credentials?.kind === 'token') {
    return loginByToken(context, credentials.token, word, (later) => finishHello(later, options))
  }
  if (credentials?.kind === 'password') {
    const failure = server.login.byPassword(client, credentials, word, aclLogContext(context))
    if (failure) return refuse(context, failure)
  }
  finishHello(context, options)
}

function finishHello(context: CommandContext, { protocol, name }: HelloOptions): void {
  const { client, reply, server } = context
  if (!client.authenticated) {
    reply.error(HELLO_NEEDS_AUTH)
    return
  }
  if (name !== undefined) client.name = name
  if (protocol !== undefined) setProtocol(context, protocol)
  const fields: readonly (readonly [string, string | number])[] = [
    ['server', 'redis'],
    ['version', server.facts.version],
    ['proto', client.protocol],
    ['id', client.id],
    ['mode', server.cluster ? 'cluster' : 'standalone'],
    ['role', 'master'],
  ]
  reply.map(fields.length + 1)
  for (const [key, value] of fields) {
    reply.bulk(key)
    if (typeof value === 'number') reply.integer(value)
    else reply.bulk(value)
  }
  reply.bulk('modules')
  reply.array(0)
}

function setProtocol({ client, reply, server }: CommandContext, protocol: Protocol): void {
  if (client.protocol !== protocol) {
    server.registry.regroup(client, () => (client.protocol = protocol))
  }
  reply.protocol = protocol
}

function ping({ client, reply }: CommandContext, request: Request): void {
  if (request.count > 2) {
    reply.error(`ERR ${wrongArity('ping')}`)
  } else if (client.protocol === 2 && client.subscriptions.any) {
    reply.array(2)
    reply.bulk('pong')
    reply.bulk(request.count === 2 ? request.bytes(1) : '')
  } else if (request.count === 2) {
    reply.bulk(request.bytes(1))
  } else {
    reply.simple('PONG')
  }
}

function select({ client, reply, server }: CommandContext, request: Request): void {
  const database = parseInteger(request.text(1))
  if (database === undefined) {
    reply.error(NOT_AN_INTEGER)
    return
  }
  if (database < -(2 ** 31) || database >= 2 ** 31) {
    reply.error('ERR value is out of range, value must between -2147483648 and 2147483647')
    return
  }
  if (server.cluster && database !== 0) {
    reply.error('ERR SELECT is not allowed in cluster mode')
    return
  }
  if (database < 0 || database >= server.config.integer('databases')) {
    reply.error('ERR DB index is out of range')
    return
  }
  client.database = database
  reply.ok()
}

function reset(context: CommandContext): ReturnType<typeof inSlices> {
  const { subscriptions } = context.client
  const held = subscriptions.count + subscriptions.shardCount
  if (held === 0) return resetClient(context)
  return inSlices(context, held, (current, from, to) => {
    current.server.registry.unsubscribeSome(current.client, to - from)
    if (to === held) resetClient(current)
    return true
  })
}

function resetClient(context: CommandContext): void {
  const { client, reply, server } = context
  server.monitors.delete(client)
  client.tracking = undefined
  client.readOnly = false
  client.endTransaction()
  client.database = 0
  client.name = ''
  client.noEvict = false
  client.noTouch = false
  if (client.replyMode === 'off') client.replyMode = 'on'
  server.login.reset(client)
  if (!client.isWebSocket) setProtocol(context, 2)
  reply.simple('RESET')
}

function quit({ client, reply }: CommandContext): void {
  reply.ok()
  client.close(CLOSES.quit)
}

/**
 * HELLO ... AUTH user password: the two arguments after AUTH, and from the first word on that HELLO does not expect, all of
 * them: in `HELLO AUTH jwt <token>` the version was forgotten.
 */
function isSecretOfHello(request: Request, index: number): boolean {
  if (index === 0) return false
  if (parseInteger(request.text(1)) === undefined) return true
  for (let i = 2; i <= index;) {
    const word = request.text(i).toLowerCase()
    const left = request.count - i - 1
    if (word === 'auth' && left >= 2) {
      if (index <= i + 2) return index > i
      i += 3
    } else if (word === 'setname' && left >= 1) {
      if (index <= i + 1) return false
      i += 2
    } else {
      return true
    }
  }
  return false
}

const UNAUTHENTICATED = {
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
  categories: ['fast', 'connection'],
  group: 'connection',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

const FAST = {
  flags: ['loading', 'stale', 'fast'],
  categories: ['fast', 'connection'],
  group: 'connection',
  since: '1.0.0',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

/** Commands of the group `connection` but CLIENT. */
export const CONNECTION_COMMANDS: CommandRecord = {
  auth: {
    ...UNAUTHENTICATED,
    arity: -2,
    since: '1.0.0',
    syntax: '[<username>] <password> | [jwt] <token>',
    arguments: [arg.string('username', { since: '6.0.0', optional: true }), arg.string('password')],
    history: [['6.0.0', 'A user may be named.']],
    summary: 'Logs in by user and password, or with a token.',
    complexity: 'O(N) with N passwords of the user.',
    secret: 1,
    refuseInMulti: (context, request) => refuseTokenInMulti(authCredentials(context, request)),
    handler: auth,
  },
  hello: {
    ...UNAUTHENTICATED,
    arity: -1,
    since: '6.0.0',
    syntax: '[<protover> [AUTH <username> <password>] [SETNAME <name>]]',
    arguments: [
      arg.block(
        'arguments',
        [
          arg.integer('protover'),
          arg.block('auth', [arg.string('username'), arg.string('password')], {
            token: 'AUTH',
            optional: true,
          }),
          arg.string('clientname', { token: 'SETNAME', optional: true }),
        ],
        { optional: true },
      ),
    ],
    history: [['6.2.0', 'The protocol may be left out.']],
    summary:
      'Chooses the protocol version, logs in, names the connection, and describes the server.',
    secret: isSecretOfHello,
    refuseInMulti: (context, request) => {
      const options = readHello(context, request)
      return 'error' in options ? undefined : refuseTokenInMulti(options.credentials)
    },
    handler: hello,
  },
  quit: {
    ...UNAUTHENTICATED,
    arity: -1,
    since: '1.0.0',
    deprecated: { since: '7.2.0', replacedBy: 'just closing the connection' },
    summary: 'Closes the connection.',
    whileSubscribed: true,
    notQueued: true,
    handler: quit,
  },
  reset: {
    ...UNAUTHENTICATED,
    arity: 1,
    since: '6.2.0',
    summary: 'Makes the connection as it was when it was new.',
    complexity: 'O(N) with N subscriptions.',
    whileSubscribed: true,
    notQueued: true,
    handler: reset,
  },
  ping: {
    ...FAST,
    arity: -1,
    flags: ['fast'],
    syntax: '[<message>]',
    arguments: [arg.string('message', { optional: true })],
    summary: 'Answers PONG, or its argument.',
    tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
    whileSubscribed: true,
    handler: ping,
  },
  echo: {
    ...FAST,
    arity: 2,
    syntax: '<message>',
    arguments: [arg.string('message')],
    summary: 'Answers its argument.',
    handler: ({ reply }, request) => reply.bulk(request.bytes(1)),
  },
  select: {
    ...FAST,
    arity: 2,
    syntax: '<index>',
    arguments: [arg.integer('index')],
    summary: 'Remembers a database number; Pub/Sub does not depend on it.',
    handler: select,
  },
}
