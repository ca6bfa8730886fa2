import { signal } from '@preact/signals'
import type { ReadonlySignal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { RespValue } from '../../../shared/resp/types.ts'
import { connect } from '../../client/index.ts'
import type { ConnectionState, RespcastClient } from '../../client/index.ts'
import { CommandLog } from './command-log.ts'
import type { CommandSource } from './command-log.ts'
import { commandText } from './commands.ts'
import type { Command } from './commands.ts'
import { GatewayWatch, readGateways } from './gateways.ts'
import type { WatchedGateway } from './gateways.ts'
import { messageOf } from './messages.ts'
import { replyText } from './reply.ts'
import { Sampler } from './sampler.ts'
import { Tail } from './tail.ts'

/** Time limit of a reply: the server drops replies over `ws-max-message-out`. Milliseconds. */
const REPLY_TIMEOUT_MS = 20_000

/** A failed login; `message` is for display. */
class LoginError extends Error {
  override readonly name = 'LoginError'
}

/**
 * The session of an operator: one connection, and everything that depends on it. Every command of the page goes through
 * {@link send} and is recorded in {@link log}.
 */
export class Session {
  readonly user: string
  readonly client: RespcastClient
  readonly log = new CommandLog()
  readonly sampler: Sampler
  readonly tail: Tail
  readonly #gateways = new GatewayWatch()
  readonly #state = signal<ConnectionState>({ status: 'connecting' })

  constructor(url: string, user: string, password: string) {
    this.user = user
    this.client = connect(url, {
      login: { user, password },
      reconnect: { maxMs: 5_000 },
    })
    this.sampler = new Sampler((command) => this.send(command, 'refresh'))
    this.tail = new Tail(this.client, this.log)
    this.#noteLogin()
    this.client.on('state', (state) => {
      if (state.status === 'connecting') this.#noteLogin()
      this.#state.value = state
    })
    // Without a listener they would be uncaught errors. Each caller gets its own anyway.
    this.client.on('error', () => undefined)
  }

  get state(): ReadonlySignal<ConnectionState> {
    return this.#state
  }

  /**
   * Sends a command.
   *
   * @throws {RespcastError} `ReplyError` for an error reply, `ConnectionError` where there is no connection or no answer.
   */
  send(command: Command, source: CommandSource = 'user'): Promise<RespValue> {
    const end = this.log.begin(commandText(command), source)
    const [name, ...args] = command
    return this.#settle(this.client.call(name, ...args), end)
  }

  /**
   * Sends several commands of one kind at once, with one log entry for all.
   *
   * @throws {RespcastError} As {@link send}, for the first that fails.
   */
  async sendAll(
    commands: readonly Command[],
    source: CommandSource = 'user',
  ): Promise<readonly RespValue[]> {
    const [first] = commands
    if (!first) return []
    if (commands.length === 1) return [await this.send(first, source)]
    const end = this.log.begin(`${commandText(first)} ... (${commands.length} commands)`, source)
    const replies = Promise.all(commands.map(([name, ...args]) => this.client.call(name, ...args)))
    return this.#settle(replies, end)
  }

  /**
   * Asks which gateways there are. How long one has been behind is counted over all views.
   *
   * @throws {RespcastError} As {@link send}.
   */
  async loadGateways(source: CommandSource): Promise<readonly WatchedGateway[]> {
    const gateways = readGateways(await this.send(['RESPCAST', 'NODES'], source))
    return this.#gateways.look(gateways, performance.now())
  }

  /** Logs out. The session cannot be used again. */
  end(): void {
    this.sampler.stop()
    this.client.close()
  }

  async #settle<Reply extends RespValue | readonly RespValue[]>(
    reply: Promise<Reply>,
    end: (outcome: 'ok' | 'error', reply: string) => void,
  ): Promise<Reply> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`The server has not answered within ${REPLY_TIMEOUT_MS / 1000} s`))
      }, REPLY_TIMEOUT_MS)
    })
    try {
      const value = await Promise.race([reply, late])
      end('ok', replyText(value))
      return value
    } catch (error) {
      end('error', messageOf(error))
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  #noteLogin(): void {
    const end = this.log.begin(commandText(['AUTH', this.user, '-']), 'user')
    const stop = this.client.on('state', (state) => {
      if (state.status === 'connecting' || state.status === 'authenticating') return
      stop()
      if (state.status === 'online') end('ok', 'OK')
      else end('error', state.cause.text === '' ? state.cause.name : state.cause.text)
    })
  }
}

/**
 * Logs in.
 *
 * @throws {LoginError} The password is wrong, or the server cannot be reached; the session is closed then.
 */
export async function logIn(url: string, user: string, password: string): Promise<Session> {
  const session = new Session(url, user, password)
  const failure = await new Promise<string | undefined>((resolve) => {
    session.client.on('state', (state) => {
      if (state.status === 'online') resolve(undefined)
      else if ('cause' in state) resolve(refusalText(state.cause.name, state.cause.text))
    })
  })
  if (failure === undefined) return session
  session.end()
  throw new LoginError(failure)
}

function refusalText(name: string, text: string): string {
  if (name === 'wrong-password') return 'The server does not accept this user and password.'
  if (text !== '') return text
  return name === 'lost' ? 'The server cannot be reached.' : `The connection ended: ${name}`
}

/** The session, for all views. */
export const SessionContext = createContext<Session | undefined>(undefined)

/**
 * The session of the view.
 *
 * @throws {TypeError} Outside of a session.
 */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new TypeError('There is no session')
  return session
}

/** Path of the WebSocket, if the server does not tell it. */
const USUAL_PATH = '/ws'

/** Address of the WebSocket beside the page, also behind a proxy. The server tells the path (`ws-path`). */
export async function webSocketUrl(): Promise<string> {
  const url = new URL(`.${await webSocketPath()}`, location.href)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

async function webSocketPath(): Promise<string> {
  try {
    const response = await fetch('./console.json')
    const settings: unknown = await response.json()
    if (typeof settings === 'object' && settings !== null && 'webSocketPath' in settings) {
      return String(settings.webSocketPath)
    }
  } catch {
    // If the WebSocket does not open either, the login reports it.
  }
  return USUAL_PATH
}
