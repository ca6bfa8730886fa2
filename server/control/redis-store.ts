import { createHash, randomBytes } from 'node:crypto'
import type { CommandArgument } from '../../shared/resp/command.ts'
import { errorPrefix } from '../../shared/error-prefix.ts'
import { isError, type RespValue } from '../../shared/resp/types.ts'
import type { ControlLine } from '../upstream/control-line.ts'
import {
  decodeNode,
  encodeEntry,
  encodeNode,
  encodeRegister,
  problemOfEntry,
  readRegister,
  readRow,
  signedOfEntry,
  splitMessage,
  type LogRow,
  type Rejection,
} from './codec.ts'
import type { NodeRecord } from './node.ts'
import type { Register } from './register.ts'
import { COMMIT, FORMAT, HEARTBEAT, type Script } from './scripts.ts'
import { NO_SIGNATURE, type Signature } from './signature.ts'
import type {
  CommitAnswer,
  CommitOrder,
  ControlStore,
  Heartbeat,
  LoggedEntry,
  LogTail,
  SeenNode,
  StoreFailure,
} from './store.ts'

/** Entries that are read at a time, and registers: a page is taken in one turn of the event loop. */
const LOG_PAGE = 100
const STATE_PAGE = 500

/** Attempts to read a state that is replaced meanwhile, and to commit over lines that change while they are verified. */
const ATTEMPTS = 5

/** Commits without an answer that are remembered. */
const MOST_UNKNOWN = 1_024

/** Errors that pass, and that the link reports. */
const PASSING = new Set(['LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN'])
/** Errors that pass, and that an operator should know of. */
const BUSY = new Set(['BUSY', 'NOREPLICAS'])

/** Commands that the user of the gateways needs for the control plane. */
const GRANTS =
  '+eval +evalsha +time +hget +hmget +hset +hdel +hlen +hgetall +hscan +xadd +xrange +xrevrange +publish +spublish +wait'

const LOST: StoreFailure = { state: 'failed', problem: undefined }

/** The namespace at the upstream, and how a gateway writes there. */
export interface RedisStoreOptions {
  readonly line: Pick<ControlLine, 'ask' | 'publishCommand'>
  readonly namespace: string
  readonly signature: Signature
  /** The user of the line, for advice. */
  readonly user: string
}

/** The keys of a namespace at a Redis or Valkey. */
export class RedisStore implements ControlStore {
  readonly rejected = new Map<Rejection, number>()
  durabilityProblem: string | undefined
  readonly #options: RedisStoreOptions
  readonly #keys: readonly Buffer[]
  readonly #channel: string
  /** Entries whose commit was not answered. */
  readonly #unknown = new Set<string>()

  constructor(options: RedisStoreOptions) {
    this.#options = options
    const tag = `{respcast:${options.namespace}}`
    this.#keys = ['log', 'state', 'nodes'].map((name) => Buffer.from(`${tag}:${name}`))
    this.#channel = `${tag}:ctl`
  }

  async commit(order: CommitOrder): Promise<CommitAnswer> {
    const { entry } = order
    const body = encodeEntry(entry)
    const problem = problemOfEntry(entry, body)
    if (problem !== undefined) return { state: 'refused', problem }
    const answer = await this.#commit(order, body)
    this.#unknown.delete(entry.uuid)
    if (answer.state === 'unknown') {
      this.#unknown.add(entry.uuid)
      for (const oldest of this.#unknown) {
        if (this.#unknown.size <= MOST_UNKNOWN) break
        this.#unknown.delete(oldest)
      }
    }
    return answer
  }

  async #commit({ entry, mode }: CommitOrder, body: string): Promise<CommitAnswer> {
    const { namespace, signature, line } = this.#options
    const written = entry.registers.map((register) => ({
      register,
      content: encodeRegister(namespace, signature, register).content,
    }))
    const head = [
      ...[mode, line.publishCommand, this.#channel, entry.uuid],
      ...[signature.sign(signedOfEntry(namespace, body)), body],
      ...[this.#unknown.has(entry.uuid) ? 'retry' : '', entry.order === undefined ? '' : 'order'],
      signature === NO_SIGNATURE ? '' : 'verify',
    ]
    /** What has been found out about stored lines, by key. */
    const known = new Map<string, string>()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const registers = written.flatMap(({ register: { key, version, uuid }, content }) => [
        ...[key, `${version}`, uuid, content, known.get(key) ?? ''],
      ])
      const reply = await this.#run(COMMIT, [...head, ...registers])
      if (!Array.isArray(reply)) {
        const problem = this.#problemOf(reply)
        return problem === undefined || isBusy(reply)
          ? { state: 'unknown' }
          : { state: 'refused', problem }
      }
      const [state, second, third] = reply as readonly RespValue[]
      switch (textOf(state)) {
        case 'committed':
          return { state: 'committed', id: textOf(second), nodes: nodesOf(third) }
        case 'conflict':
          return { state: 'conflict', keys: textsOf(second) }
        case 'format':
          return { state: 'refused', problem: this.#formatProblem(textOf(second)) }
        default:
          this.#verify(textsOf(second), known)
      }
    }
    return mode === 'edit'
      ? { state: 'conflict', keys: entry.registers.map(({ key }) => key) }
      : { state: 'unknown' }
  }

  /** Finds out which lines of the state stand in the way rightly: not those that nobody signed. */
  #verify(pairs: readonly string[], known: Map<string, string>): void {
    const { namespace, signature } = this.#options
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const [key = '', line = ''] = pairs.slice(at, at + 2)
      const isValid = typeof readRegister(namespace, signature, key, line) !== 'string'
      const sha = createHash('sha1').update(line, 'latin1').digest('hex')
      known.set(key, `${isValid ? '+' : '-'}${sha}`)
    }
  }

  async heartbeat(record: NodeRecord, leaseMs: number): Promise<Heartbeat | StoreFailure> {
    const { id, number } = record
    const reply = await this.#run(HEARTBEAT, [id, `${number}`, `${leaseMs}`, encodeNode(record)])
    if (!Array.isArray(reply)) return { state: 'failed', problem: this.#problemOf(reply) }
    const [state, second, timeMs, last, epoch, nodes] = reply as readonly RespValue[]
    switch (textOf(state)) {
      case 'beat':
        return {
          number: Number(textOf(second)),
          timeMs: Number(textOf(timeMs)),
          last: textOf(last),
          epoch: textOf(epoch),
          nodes: nodesOf(nodes),
        }
      case 'format':
        return { state: 'failed', problem: this.#formatProblem(textOf(second)) }
      default: {
        const problem = `upstream-namespace: '${this.#options.namespace}' has as many gateways as there are numbers: name another namespace`
        return { state: 'failed', problem }
      }
    }
  }

  async leave(id: string): Promise<void> {
    await this.#ask('HDEL', this.#nodes, id)
  }

  async forget(keys: readonly string[]): Promise<void> {
    await this.#ask('HDEL', this.#state, ...keys.map((key) => Buffer.from(key, 'latin1')))
  }

  async readLog(after: string, uuid: string): Promise<LogTail | StoreFailure> {
    const before = await this.#namespace()
    if (before.state === 'failed') return before
    const entries: LoggedEntry[] = []
    /** The next entry that is taken follows one of these: the last that was, or one since that was not. */
    const reached = new Set([after])
    let [last, lastUuid] = [after, uuid]
    let hasLast = before.last === after
    let from = after === '' ? '-' : after
    let isFirst = after !== ''
    for (;;) {
      const page = await this.#ask('XRANGE', this.#log, from, '+', 'COUNT', `${LOG_PAGE}`)
      if (!Array.isArray(page)) return { state: 'failed', problem: this.#problemOf(page) }
      const rows = (page as readonly RespValue[]).map(rowOf)
      for (const row of rows) {
        if (isFirst) {
          isFirst = false
          if (row.id !== after || row.uuid !== uuid) return { state: 'gone' }
          continue
        }
        const read = this.#read(row)
        if (read !== undefined) {
          if (!reached.has(read.previous)) return { state: 'gone' }
          reached.clear()
          entries.push(read)
        }
        reached.add(row.id)
        last = row.id
        lastUuid = row.uuid
        hasLast ||= row.id === before.last
      }
      if (rows.length < LOG_PAGE) break
      from = `(${last}`
    }
    if (isFirst || !hasLast) return { state: 'gone' }
    return { state: 'whole', entries, last, lastUuid }
  }

  async readState(
    take: Parameters<ControlStore['readState']>[0],
  ): ReturnType<ControlStore['readState']> {
    const { namespace, signature } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = await this.#namespace()
      if (before.state === 'failed') return before
      const seen = new Set<string>()
      const rejections = new Map<string, Rejection>()
      let cursor = '0'
      let reading = this.#scan(cursor)
      do {
        const reply = await reading
        if (!Array.isArray(reply)) return { state: 'failed', problem: this.#problemOf(reply) }
        const [next, page] = reply as readonly RespValue[]
        cursor = textOf(next)
        // The upstream looks for the next page while this one is taken.
        if (cursor !== '0') reading = this.#scan(cursor)
        const fields = Array.isArray(page) ? (page as readonly RespValue[]) : []
        const registers: Register[] = []
        for (let at = 0; at + 1 < fields.length; at += 2) {
          const key = textOf(fields[at])
          seen.add(key)
          if (!key.includes(':')) continue
          const read = readRegister(namespace, signature, key, textOf(fields[at + 1]))
          if (typeof read === 'string') rejections.set(key, read)
          else {
            rejections.delete(key)
            registers.push(read)
          }
        }
        await take(registers)
      } while (cursor !== '0')
      const after = await this.#namespace()
      if (after.state === 'failed') return after
      // Registers are never removed: fewer than there were means that the scan went on at another node.
      if (after.epoch !== before.epoch || seen.size < before.fields) continue
      for (const rejection of rejections.values()) this.#reject(rejection)
      const { epoch, last, lastUuid } = before
      return { state: 'read', epoch, last, lastUuid }
    }
    return LOST
  }

  #scan(cursor: string): Promise<RespValue | undefined> {
    return this.#ask('HSCAN', this.#state, cursor, 'COUNT', `${STATE_PAGE}`)
  }

  async makeDurable(kind: { readonly replicas: number } | 'aof', waitMs: number): Promise<boolean> {
    // 0 would wait for ever.
    const limit = `${Math.max(1, Math.ceil(waitMs))}`
    const reply =
      kind === 'aof'
        ? await this.#ask('WAITAOF', '1', '0', limit)
        : await this.#ask('WAIT', `${kind.replicas}`, limit)
    if (reply === undefined) return false
    this.durabilityProblem = isError(reply) ? this.#durabilityProblem(reply.message) : undefined
    if (kind !== 'aof') return typeof reply === 'number' && reply >= kind.replicas
    const [local] = Array.isArray(reply) ? (reply as readonly RespValue[]) : []
    return typeof local === 'number' && local >= 1
  }

  readMessage(payload: Buffer): LoggedEntry | undefined {
    const row = splitMessage(payload)
    if (row !== undefined) return this.#read(row)
    this.#reject('broken')
    return undefined
  }

  get #log(): Buffer {
    return this.#keys[0] as Buffer
  }

  get #state(): Buffer {
    return this.#keys[1] as Buffer
  }

  get #nodes(): Buffer {
    return this.#keys[2] as Buffer
  }

  #read(row: LogRow & { readonly uuid?: string }): LoggedEntry | undefined {
    const read = readRow(this.#options.namespace, this.#options.signature, row)
    const isOther =
      typeof read !== 'string' && row.uuid !== undefined && row.uuid !== read.entry.uuid
    if (typeof read !== 'string' && !isOther) return read
    this.#reject(typeof read === 'string' ? read : 'broken')
    return undefined
  }

  #reject(rejection: Rejection): void {
    this.rejected.set(rejection, (this.rejected.get(rejection) ?? 0) + 1)
  }

  async #namespace(): Promise<
    | {
        readonly state: 'read'
        readonly epoch: string
        readonly last: string
        readonly lastUuid: string
        /** Of the state. */
        readonly fields: number
      }
    | StoreFailure
  > {
    const counting = this.#ask('HLEN', this.#state)
    const reply = await this.#ask('HMGET', this.#state, 'format', 'epoch', 'last', 'last-uuid')
    const count = await counting
    if (!Array.isArray(reply) || typeof count !== 'number') {
      return { state: 'failed', problem: this.#problemOf(Array.isArray(reply) ? count : reply) }
    }
    const [format, epoch, last, lastUuid] = reply as readonly RespValue[]
    const found = textOf(format)
    if (found !== '' && found !== FORMAT) {
      return { state: 'failed', problem: this.#formatProblem(found) }
    }
    return {
      ...{ state: 'read', epoch: textOf(epoch), last: textOf(last) },
      ...{ lastUuid: textOf(lastUuid), fields: count },
    }
  }

  /** Runs a script, whose arguments are byte strings. */
  async #run(script: Script, args: readonly string[]): Promise<RespValue | undefined> {
    const epoch = randomBytes(8).toString('hex')
    const bytes = [FORMAT, epoch, ...args].map((arg) => Buffer.from(arg, 'latin1'))
    const rest: CommandArgument[] = [`${this.#keys.length}`, ...this.#keys, ...bytes]
    const reply = await this.#ask('EVALSHA', script.sha, ...rest)
    const isMissing = reply !== undefined && isError(reply) && reply.message.startsWith('NOSCRIPT')
    return isMissing ? this.#ask('EVAL', script.text, ...rest) : reply
  }

  /** @returns Undefined if there is no answer. */
  #ask(...args: readonly CommandArgument[]): Promise<RespValue | undefined> {
    return new Promise((resolve) => {
      this.#options.line.ask({ answered: resolve, lost: () => resolve(undefined) }, ...args)
    })
  }

  /** @returns A sentence about a reply that is none of the expected; undefined where the link reports it. */
  #problemOf(reply: RespValue | undefined): string | undefined {
    if (reply === undefined) return undefined
    if (!isError(reply)) return 'upstream: an answer to the control plane that is none'
    const { message } = reply
    if (PASSING.has(errorPrefix(message))) return undefined
    // Redis 7.0 names it in words alone where a script may not do something.
    if (
      errorPrefix(message) !== 'NOPERM' &&
      !/ACL failure|user executing the script/.test(message)
    ) {
      return `upstream: the control plane is refused (${message})`
    }
    const { user, namespace } = this.#options
    const tag = `{respcast:${namespace}}:*`
    // A server that does not know a command cannot grant it.
    const grants = message.includes('waitaof') ? `${GRANTS} +waitaof` : GRANTS
    return `upstream-user: '${user}' may not do what the control plane needs (${message}). At the upstream: ACL SETUSER ${user} ~${tag} &${tag} ${grants}`
  }

  #durabilityProblem(message: string): string | undefined {
    if (!/unknown command|appendonly/.test(message)) {
      return this.#problemOf({ type: 'error', message })
    }
    return (
      `upstream-durability: the upstream cannot say what is in its append-only file (${message}): ` +
      "set 'appendonly yes' there, of Redis 7.2, Valkey or newer, or choose 'replicas <n>'"
    )
  }

  #formatProblem(format: string): string {
    const { namespace } = this.#options
    return `upstream-namespace: '${namespace}' was written by a version that this one does not know (format ${format}): upgrade this gateway, or name another namespace`
  }
}

function isBusy(reply: RespValue | undefined): boolean {
  return reply !== undefined && isError(reply) && BUSY.has(errorPrefix(reply.message))
}

/** The byte string of a reply; empty where it is none. */
function textOf(value: RespValue | undefined): string {
  if (typeof value === 'string') return value
  if (!(value instanceof Uint8Array)) return ''
  return Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1')
}

function textsOf(value: RespValue | undefined): string[] {
  return Array.isArray(value) ? (value as readonly RespValue[]).map(textOf) : []
}

/** Gateways as scripts answer them: id, number, ms left of the lease, record, and so on. */
function nodesOf(value: RespValue | undefined): SeenNode[] {
  const texts = textsOf(value)
  const nodes: SeenNode[] = []
  for (let at = 0; at + 3 < texts.length; at += 4) {
    const [id = '', number = '', left = '', record = ''] = texts.slice(at, at + 4)
    nodes.push({ record: decodeNode(id, Number(number), record), leaseLeftMs: Number(left) })
  }
  return nodes
}

/** An entry of XRANGE. What is missing is empty, and is found broken later. */
function rowOf(value: RespValue): LogRow & { readonly uuid: string } {
  const [id, fields] = Array.isArray(value) ? (value as readonly RespValue[]) : []
  const texts = textsOf(fields)
  const of = (name: string): string => {
    for (let at = 0; at + 1 < texts.length; at += 2)
      if (texts[at] === name) return texts[at + 1] ?? ''
    return ''
  }
  return {
    ...{ id: textOf(id), uuid: of('uuid'), previous: of('previous') },
    ...{ mac: of('mac'), body: of('body') },
  }
}
