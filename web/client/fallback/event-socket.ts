import { bytesOfString, byteString, utf8Bytes } from '../../../shared/bytes.ts'
import { closeReason, type CloseName, closeNamed } from '../../../shared/close-codes.ts'
import { RespReader } from '../../../shared/resp/reader.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import { encodeValue } from '../../../shared/resp/writer.ts'
import { readSubprotocols } from '../../../shared/subprotocol.ts'
import type { ClientClock, ClientSocket, OpenSocket, SocketListener } from '../environment.ts'

/** The code of a connection that broke (RFC 6455 section 7.4.1). */
const LOST = 1006

/** A stream is silent for less than that: the server sends comments. Milliseconds. */
const LONGEST_SILENCE_MS = 60_000

/** The commands that change subscriptions: kind of names, and whether they are taken or given up. */
const CHANGES: Readonly<Record<string, readonly [space: Space, isWanted: boolean]>> = {
  SUBSCRIBE: ['channel', true],
  PSUBSCRIBE: ['pattern', true],
  UNSUBSCRIBE: ['channel', false],
  PUNSUBSCRIBE: ['pattern', false],
}

/** The close that an answer of HTTP stands for, where it refuses a stream. */
const CLOSES: Readonly<Record<number, CloseName>> = {
  401: 'unauthorized',
  403: 'forbidden',
  413: 'too-large',
  429: 'rate-limited',
  431: 'too-large',
  503: 'unavailable',
}

/** What pages have, and workers and Node.js lack. */
const surroundings = globalThis as { readonly document?: { readonly baseURI: string } }

type Space = 'channel' | 'pattern'

/** Names as byte strings. */
type Names = Readonly<Record<Space, ReadonlySet<string>>>

/** A command as byte strings; its arguments as they were. */
interface Command {
  readonly name: string
  readonly args: readonly Uint8Array[]
}

/** A refusal of the server: `{"error":{"code","message"}}`. */
interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retryMs: number | undefined
}

type EventData = Readonly<Record<string, string | number | undefined>>

/** Opens sockets that behave like WebSockets to this server, by server-sent events and requests that publish. */
export function opener(clock: ClientClock): OpenSocket {
  return (url, protocols, listener) =>
    new EventSocket(clock, url, readSubprotocols(protocols).token, listener)
}

/**
 * Speaks RESP3 to the client as the server would. A stream has the subscriptions that it was asked for: others are had by another
 * stream, and messages that come between the two are reported as a gap.
 */
class EventSocket implements ClientSocket {
  readonly #clock: ClientClock
  readonly #url: URL
  readonly #listener: SocketListener
  readonly #reader = new RespReader()
  readonly #commands: Command[] = []
  #authorization: string | undefined
  #names: Names = { channel: new Set(), pattern: new Set() }
  /** Ends the stream in use. */
  #stream: AbortController | undefined
  #isRunning = false
  #isOver = false
  #heardMs = 0

  constructor(
    clock: ClientClock,
    url: string,
    token: string | undefined,
    listener: SocketListener,
  ) {
    this.#clock = clock
    this.#url = new URL(url, surroundings.document?.baseURI)
    this.#url.protocol = this.#url.protocol.replace(/^ws/, 'http')
    this.#listener = listener
    this.#authorization = token === undefined ? undefined : `Bearer ${token}`
    void this.#start()
  }

  send(bytes: Uint8Array): void {
    this.#reader.push(bytes)
    for (let value = this.#reader.next(); value !== undefined; value = this.#reader.next()) {
      const [name, ...args] = value as readonly Uint8Array[]
      this.#commands.push({ name: byteString(name as Uint8Array).toUpperCase(), args })
    }
    if (!this.#isRunning && this.#stream) void this.#run()
  }

  close(): void {
    this.#isOver = true
    this.#stream?.abort()
  }

  async #start(): Promise<void> {
    // As with a WebSocket, nothing happens before its owner has it.
    await Promise.resolve()
    if (this.#authorization === undefined) {
      // A login may follow at once; else a cookie has to do.
      this.#listener.opened()
      await new Promise<void>((resolve) => this.#clock.after(0, resolve))
      const [first] = this.#commands
      if (first?.name === 'AUTH') {
        this.#commands.shift()
        const refusal = await this.#authenticate(first)
        if (refusal === undefined) void this.#run()
        return
      }
    }
    const refusal = await this.#open(this.#names)
    if (refusal) this.#refused(refusal)
    else void this.#run()
  }

  /** Carries out commands in their order. */
  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    for (let command = this.#commands.shift(); command; command = this.#commands.shift()) {
      if (this.#isOver) return
      const change = CHANGES[command.name]
      if (change) await this.#change(command, ...change)
      else if (command.name === 'PUBLISH') await this.#publish(command)
      else if (command.name === 'AUTH') await this.#authenticate(command)
      else if (command.name === 'PING') this.#ping()
      else this.#error(`ERR ${command.name} is not available over server-sent events`)
    }
    this.#isRunning = false
  }

  #ping(): void {
    if (this.#clock.monotonicMs() - this.#heardMs > LONGEST_SILENCE_MS) this.#closed(LOST, '')
    else this.#reply('PONG')
  }

  async #change(first: Command, space: Space, isWanted: boolean): Promise<void> {
    if (!isWanted) {
      // The stream goes on with them until the next one; what comes for them is dropped.
      const names = first.args.length === 0 ? [...this.#names[space]] : first.args.map(byteString)
      const left = new Set([...this.#names[space]].filter((name) => !names.includes(name)))
      this.#names = { ...this.#names, [space]: left }
      for (const name of names) this.#confirm(first.name, name)
      return
    }
    const commands = [first]
    while (CHANGES[this.#commands[0]?.name ?? '']?.[1]) {
      commands.push(this.#commands.shift() as Command)
    }
    const refusal = await this.#open(this.#with(commands))
    if (refusal === undefined) {
      for (const command of commands) {
        for (const name of command.args) this.#confirm(command.name, byteString(name))
      }
    } else if (commands.length > 1 && isOfNames(refusal)) {
      // One by one, to know which of them it is.
      for (const command of commands) await this.#changeAlone(command)
    } else await this.#denied(refusal)
  }

  async #changeAlone(command: Command): Promise<void> {
    if (this.#isOver) return
    const refusal = await this.#open(this.#with([command]))
    if (refusal) await this.#denied(refusal)
    else for (const name of command.args) this.#confirm(command.name, byteString(name))
  }

  /** Answers a command whose names were refused, and goes on with those before. */
  async #denied(refusal: Refusal): Promise<void> {
    if (!isOfNames(refusal)) {
      this.#refused(refusal)
      return
    }
    this.#error(`${refusal.code} ${refusal.message}`)
    const again = await this.#open(this.#names)
    if (again) this.#refused(again)
  }

  #with(commands: readonly Command[]): Names {
    const names = { channel: new Set(this.#names.channel), pattern: new Set(this.#names.pattern) }
    for (const { name, args } of commands) {
      const [space] = CHANGES[name] ?? ['channel']
      for (const one of args) names[space].add(byteString(one))
    }
    return names
  }

  async #authenticate({ args }: Command): Promise<Refusal | undefined> {
    const [user = '', secret = ''] = args.map(byteString)
    const before = this.#authorization
    this.#authorization = user === 'jwt' ? `Bearer ${secret}` : `Basic ${btoa(`${user}:${secret}`)}`
    const refusal = await this.#open(this.#names)
    if (refusal === undefined) this.#reply('OK')
    else if (before === undefined || refusal.status !== 401) this.#refused(refusal)
    else {
      this.#authorization = before
      this.#error(`${refusal.code} ${refusal.message}`)
      const again = await this.#open(this.#names)
      if (again) this.#refused(again)
    }
    return refusal
  }

  async #publish({ args: [channel = new Uint8Array(), payload] }: Command): Promise<void> {
    try {
      const response = await fetch(this.#at('publish', percentEncoded(byteString(channel))), {
        method: 'POST',
        headers: this.#headers,
        credentials: this.#credentials,
        body: (payload ?? null) as Uint8Array<ArrayBuffer> | null,
      })
      if (response.ok) {
        const { receivers } = (await response.json()) as { receivers: number }
        this.#reply(receivers)
      } else {
        const { code, message } = await refusalOf(response)
        this.#error(`${code} ${message}`)
      }
    } catch {
      // Whether it was published is unknown, as with a WebSocket that breaks.
      this.#closed(LOST, '')
    }
  }

  /**
   * Opens a stream with these names in place of the one in use.
   *
   * @returns The refusal, if there is one: then there is no stream.
   */
  async #open(names: Names): Promise<Refusal | undefined> {
    const fromMs = this.#clock.wallMs()
    const isAnother = this.#stream !== undefined
    this.#stream?.abort()
    const stream = new AbortController()
    this.#stream = stream
    const query = [
      ...[...names.channel].map((name) => `channel=${percentEncoded(name)}`),
      ...[...names.pattern].map((name) => `pattern=${percentEncoded(name)}`),
    ]
    let response: Response
    try {
      response = await fetch(`${this.#at('events')}?${query.join('&') || 'login'}`, {
        headers: this.#headers,
        credentials: this.#credentials,
        signal: stream.signal,
      })
    } catch {
      this.#lost(stream)
      return undefined
    }
    if (!response.ok || !response.body) return refusalOf(response)
    const isHeld = this.#names.channel.size + this.#names.pattern.size > 0
    this.#names = names
    this.#heardMs = this.#clock.monotonicMs()
    if (isAnother) {
      if (isHeld) this.#push('gap', '', fromMs, this.#clock.wallMs())
    } else if (this.#authorization?.startsWith('Bearer') === true) this.#listener.opened()
    void this.#read(response.body, stream)
    return undefined
  }

  async #read(body: ReadableStream<Uint8Array>, stream: AbortController): Promise<void> {
    const reader = body.getReader()
    const decoder = new TextDecoder()
    let text = ''
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        this.#heardMs = this.#clock.monotonicMs()
        text += decoder.decode(part.value, { stream: true })
        const blocks = text.split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) if (stream === this.#stream) this.#event(block)
      }
    } catch {
      // It ends as one that was cut off.
    }
    this.#lost(stream)
  }

  #event(block: string): void {
    const json = /^data: (.*)$/m.exec(block)?.[1]
    if (this.#isOver || json === undefined) return
    const data = JSON.parse(json) as EventData
    switch (/^event: (.*)$/m.exec(block)?.[1]) {
      case undefined:
        this.#message(data)
        break
      case 'token':
        this.#token(data)
        break
      case 'gap':
        this.#push('gap', field(data, 'channel'), Number(data['fromMs']), Number(data['toMs']))
        break
      case 'unsubscribed': {
        const space = 'pattern' in data || 'b64pattern' in data ? 'pattern' : 'channel'
        const name = field(data, space)
        const left = new Set(this.#names[space])
        if (!left.delete(name)) break
        this.#names = { ...this.#names, [space]: left }
        this.#confirm(space === 'pattern' ? 'PUNSUBSCRIBE' : 'UNSUBSCRIBE', name)
        break
      }
      case 'close':
        this.#closed(Number(data['code']), String(data['reason']))
    }
  }

  #message(data: EventData): void {
    const channel = field(data, 'channel')
    const pattern = field(data, 'pattern')
    const isPattern = 'pattern' in data || 'b64pattern' in data
    // Given up, though the stream still has it.
    if (!this.#names[isPattern ? 'pattern' : 'channel'].has(isPattern ? pattern : channel)) return
    const payload = field(data, 'payload')
    if (isPattern) this.#push('pmessage', pattern, channel, payload)
    else this.#push('message', channel, payload)
  }

  #token(data: EventData): void {
    const about = field(data, 'about')
    const rest = ['user', 'channel', 'message', 'leftMs', 'graceMs']
      .filter((name) => name in data)
      .map((name) => (typeof data[name] === 'number' ? data[name] : field(data, name)))
    this.#push('token', about, ...rest)
  }

  #confirm(command: string, name: string): void {
    const { channel, pattern } = this.#names
    this.#push(command.toLowerCase(), name, channel.size + pattern.size)
  }

  /** @param items Byte strings and numbers. */
  #push(...items: readonly (string | number)[]): void {
    this.#reply({
      type: 'push',
      items: items.map((item) => (typeof item === 'number' ? item : bytesOfString(item))),
    })
  }

  #error(message: string): void {
    this.#reply({ type: 'error', message })
  }

  #reply(value: RespValue): void {
    if (!this.#isOver) this.#listener.received(encodeValue(value))
  }

  #refused({ status, message, retryMs }: Refusal): void {
    const isRevoked = message === 'token revoked'
    const name = isRevoked ? 'revoked' : CLOSES[status]
    if (name === undefined) this.#closed(LOST, message)
    else this.#closed(closeNamed(name).code, closeReason(name, retryMs, message))
  }

  /** A stream has ended without a close. */
  #lost(stream: AbortController): void {
    if (stream === this.#stream) this.#closed(LOST, '')
  }

  #closed(code: number, reason: string): void {
    if (this.#isOver) return
    this.close()
    this.#listener.closed(code, reason)
  }

  get #headers(): Record<string, string> {
    return this.#authorization === undefined ? {} : { authorization: this.#authorization }
  }

  get #credentials(): 'include' | 'same-origin' {
    return this.#authorization === undefined ? 'include' : 'same-origin'
  }

  /** Beside the WebSocket. */
  #at(name: string, ...below: readonly string[]): string {
    return [new URL(name, this.#url).href, ...below].join('/')
  }
}

/** Reports whether a stream was refused for its names, and not for who asks. */
function isOfNames({ status, code }: Refusal): boolean {
  return code === 'NOPERM' || (status === 400 && code === 'ERR')
}

async function refusalOf(response: Response): Promise<Refusal> {
  const { status } = response
  const retrySeconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryMs = Number.isNaN(retrySeconds) ? undefined : retrySeconds * 1000
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    return { status, code: error.code, message: error.message, retryMs }
  } catch {
    return { status, code: 'ERR', message: `HTTP ${status}`, retryMs }
  }
}

/** The bytes of a member of an event, as a byte string; empty if it is not there. */
function field(data: EventData, name: string): string {
  const encoded = data[`b64${name}`]
  if (typeof encoded === 'string') return atob(encoded)
  return byteString(utf8Bytes(String(data[name] ?? '')))
}

/** @param bytes Byte string. */
function percentEncoded(bytes: string): string {
  return bytes.replace(
    /[^\w.~-]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}
