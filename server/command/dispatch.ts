import { authorize, denialText, execDenialText, type Denial } from '../acl/authorize.ts'
import type { Client } from '../client/client.ts'
import { describeClient } from '../client/describe.ts'
import type { PublishesInFlight } from '../client/in-flight.ts'
import { RespcastError } from '../errors.ts'
import { ReplyWriter, type ErrorLine } from '../resp/reply-writer.ts'
import type { Gate } from '../delivery/gates.ts'
import type { Request } from '../resp/request.ts'
import { crossesSlots, CROSS_SLOT } from './cluster/slots.ts'
import type { CommandContext, Services } from './context.ts'
import { afterwards, Deferred, type Later } from './deferred.ts'
import {
  NO_AUTH,
  NOT_IN_MULTI,
  MONITORS_ONLY_WATCH,
  onlySubscriberCommands,
  type Refusal,
  TOKEN_IN_MULTI,
  tooManyQueued,
  unknownCommand,
  unknownSubcommand,
  wrongArity,
} from './error-texts.ts'
import { prepare, type PreparedTransaction } from './prepare.ts'
import type { Completion } from './spec.ts'
import type { Command } from './table.ts'
import { enqueue, type QueuedCommand, type Transaction } from './transaction.ts'

/** A reply of so many bytes, as a power of two, is as much work as a command is at least. */
const REPLY_WORK_BITS = 10

/** The context that all commands share, since one command runs at a time. */
class SharedContext implements CommandContext {
  /** Set before each use. */
  client!: Client
  command!: Command
  readonly reply: ReplyWriter
  readonly server: Services
  inTransaction = false
  repliedByPush = false
  prepared: PreparedTransaction | undefined = undefined
  readonly laterReply: ReplyWriter
  readonly runTransaction: CommandContext['runTransaction']

  constructor(
    reply: ReplyWriter,
    laterReply: ReplyWriter,
    server: Services,
    runTransaction: CommandContext['runTransaction'],
  ) {
    this.reply = reply
    this.laterReply = laterReply
    this.server = server
    this.runTransaction = runTransaction
  }
}

/** The reply of a command of EXEC that waits for the disk. */
interface AwaitedReply {
  /** Its place among the replies that are there. */
  readonly mark: number
  readonly later: Promise<Completion>
  /** CLIENT REPLY drops it. */
  readonly isSilent: boolean
}

/**
 * Passes requests to their commands. The checks are in the order of Redis, except that the login comes first, as in Valkey
 * 9.1: without one, a client does not learn which commands exist.
 */
export class Dispatcher {
  readonly #services: Services
  readonly #reply: ReplyWriter
  readonly #context: SharedContext
  readonly #isAlone: boolean
  /** Errors of the current reply that are no longer charged to a command, since one has ended. */
  #chargedErrors = 0
  /** The reply of EXEC has grown beyond what the client's output may hold. */
  #isOverLimit = false
  /** Start of the time that is counted for the next command, in monotonic milliseconds. */
  #markMs = 0
  /** A command runs: no other may before it is over. */
  #isRunning = false
  /** The place that was kept for the reply of the command that runs, if any. */
  #place: Gate | undefined

  constructor(services: Services) {
    this.#services = services
    this.#isAlone = services.backplane.isAlone
    const countError = (code: string): void => services.counters.countError(code)
    this.#reply = new ReplyWriter(countError)
    this.#context = new SharedContext(this.#reply, new ReplyWriter(countError), services, (queue) =>
      this.#runTransaction(queue),
    )
  }

  /**
   * Executes one request and puts its reply in the client's output.
   *
   * @returns Undefined when it is done; a promise when the reply has to wait. The client executes nothing until that is
   *   settled, and it never rejects.
   */
  execute(client: Client, request: Request): Promise<void> | undefined {
    client.commands++
    this.#begin(client)
    return this.#settle(client, this.#dispatch(client, request))
  }

  /** Starts to count time for the commands that follow, when bytes have come. */
  startBatch(nowMs: number): void {
    this.#markMs = nowMs
  }

  /** The completion of a {@link Deferred} runs within the event that brings it; its client goes on after that event. */
  #settle(client: Client, waiting: Later<Completion> | undefined): Promise<void> | undefined {
    this.#finish(client, waiting !== undefined)
    if (!(waiting instanceof Deferred)) {
      return waiting?.then((completion) => this.#complete(client, completion))
    }
    return new Promise((resolve, reject) => {
      waiting.whenSettled((completion) => {
        try {
          resolve(this.#complete(client, completion))
        } catch (error) {
          // Whoever brings it is not concerned.
          reject(error)
        }
      })
    })
  }

  /** @throws RespcastError A completion came within another command. */
  #complete(client: Client, completion: Completion): Promise<void> | undefined {
    if (client.closed) return undefined
    if (this.#isRunning) {
      throw new RespcastError('ERR_NESTED_COMMAND', 'a command was completed within another one')
    }
    this.startBatch(this.#services.clock.monotonicMs())
    this.#begin(client)
    this.#chargedErrors = 0
    let waiting: void | Later<Completion> = undefined
    try {
      waiting = completion(this.#context)
    } catch (error) {
      this.#answerFault(error, 0)
    }
    return this.#settle(client, waiting ?? undefined)
  }

  /** Answers an error that no command has caused: a protocol error. */
  fail(client: Client, line: ErrorLine): void {
    this.#begin(client)
    this.#reply.error(line)
    this.#finish(client)
  }

  #begin(client: Client): void {
    this.#isRunning = true
    this.#context.client = client
    this.#context.repliedByPush = false
    this.#context.inTransaction = false
    client.output.startCommand()
    this.#reply.begin(client.protocol)
    if (client.replyMode === 'skip-next') client.replyMode = 'skip-this'
  }

  #finish(client: Client, waits = false): void {
    if (client.isSilent) this.#silence(client, waits)
    if (this.#isOverLimit) this.#reply.rollback(0)
    client.work += 1 + ((this.#reply.end - this.#reply.start) >> REPLY_WORK_BITS)
    client.output.finishCommand(this.#reply, this.#place)
    this.#place = undefined
    this.#isRunning = false
    if (!this.#isOverLimit) return
    this.#isOverLimit = false
    this.#services.guard.closeOverLimit(client)
  }

  /** Drops the reply for CLIENT REPLY, unless it is a push. */
  #silence(client: Client, waits: boolean): void {
    if (!this.#context.repliedByPush) this.#reply.rollback(0)
    if (client.replyMode === 'skip-this' && !waits) client.replyMode = 'on'
    else if (waits && client.replyMode === 'skip-this') client.replyMode = 'skip-next'
  }

  /**
   * Holds a request until those before it are answered, refuses it, holds it until a pause is over, queues it for EXEC, holds it
   * until the upstream has room, or runs it: in this order.
   */
  #dispatch(client: Client, request: Request): Later<Completion> | undefined {
    const { login, pause, table } = this.#services
    const command = table.find(request)
    client.lastCommand = command?.spec.name ?? ''
    if (client.inFlight !== undefined && client.inFlight.count > 0) {
      const answers = untilAnswered(client.inFlight, command, request)
      if (answers) return this.#hold(client, request, answers)
    }
    if (!client.authenticated && !command?.noAuth && login.isRequired(client)) {
      return this.#reject(client, command, NO_AUTH)
    }
    if (command === undefined) {
      const isContainer = table.namesContainer(request)
      const unknown = isContainer ? unknownSubcommand(request) : unknownCommand(request)
      return this.#reject(client, command, unknown)
    }
    const refusal = this.#refusal(client, command, request)
    if (refusal !== undefined) return this.#reject(client, command, refusal)
    const { transaction } = client
    if (!client.isMonitor && pause.holds(command, transaction?.queue)) {
      return this.#hold(client, request, pause.over())
    }
    if (transaction && !command.spec.notQueued) {
      const refused = command.spec.refuseInMulti?.(this.#context, request)
      if (refused !== undefined) return this.#reject(client, command, refused)
      const { maxQueuedCommands } = client.limits
      if (transaction.queue.length >= maxQueuedCommands && !transaction.dirty) {
        return this.#reject(client, command, tooManyQueued(maxQueuedCommands))
      }
      enqueue(transaction, command, request)
      this.#reply.simple('QUEUED')
      return undefined
    }
    return this.#isAlone
      ? this.#run(client, command, request)
      : this.#runUpstream(client, command, request)
  }

  /** Runs a command that may need the upstream: PUBLISH once there is room, EXEC once it is prepared. */
  #runUpstream(client: Client, command: Command, request: Request): Later<Completion> | undefined {
    const { backplane } = this.#services
    const { transaction } = client
    if (backplane.isFull && publishes(command, transaction)) {
      const room = new Promise<void>((resolve) => backplane.whenRoom(resolve))
      return this.#hold(client, request, room)
    }
    return transaction && isExec(command) && !transaction.dirty
      ? this.#exec(client, command, request, transaction)
      : this.#run(client, command, request)
  }

  #refusal(client: Client, command: Command, request: Request): Refusal | undefined {
    const { spec } = command
    if (!command.accepts(request.count) || spec.handler === undefined)
      return { text: wrongArity(spec.name) }
    if (spec.forbidden !== undefined) return spec.forbidden
    if (client.transaction && command.noMulti) {
      return NOT_IN_MULTI
    }
    const denial = authorize(client.identity, client.overlay, command.acl, request)
    if (denial) {
      this.#logDenial(client, denial)
      return denialText(client.identity.user, denial)
    }
    if (this.#services.cluster && crossesSlots(client, command, request)) return CROSS_SLOT
    if (client.protocol === 2 && client.subscriptions.any && !spec.whileSubscribed) {
      return onlySubscriberCommands(spec.name)
    }
    if (client.isMonitor && command.touchesData) return MONITORS_ONLY_WATCH
    return undefined
  }

  /** Dispatches a request again, with all checks, after `end`. */
  #hold(client: Client, request: Request, end: Promise<void>): Promise<Completion> {
    const own = request.detach()
    client.isHeld = true
    return end.then(() => () => {
      client.isHeld = false
      return this.#dispatch(client, own)
    })
  }

  /**
   * Runs EXEC once the upstream has answered what its commands need: all of them in one go, as without an upstream. Messages
   * that come meanwhile follow its reply.
   */
  #exec(
    client: Client,
    command: Command,
    request: Request,
    transaction: Transaction,
  ): Later<Completion> | undefined {
    const preparation = prepare(client, this.#services, transaction.queue)
    if (preparation === undefined) return this.#run(client, command, request)
    if (preparation.value) return this.#runPrepared(client, command, request, preparation.value)
    const place = client.output.reserve()
    return preparation.whenSettled<Completion>((prepared) => {
      // It is not run any more, and its place holds up what was queued before.
      if (client.closed) this.#fillWithNothing(client, place)
      return () => {
        this.#place = place
        return this.#runPrepared(client, command, request, prepared)
      }
    })
  }

  #runPrepared(
    client: Client,
    command: Command,
    request: Request,
    prepared: PreparedTransaction,
  ): Later<Completion> | undefined {
    this.#context.prepared = prepared
    try {
      return this.#run(client, command, request)
    } finally {
      this.#context.prepared = undefined
      if (!client.closed) prepared.endEarly(client, this.#services)
    }
  }

  #logDenial(client: Client, { reason, object }: Denial): void {
    this.#services.aclLog.add(
      {
        reason,
        object,
        context: client.transaction ? 'multi' : 'toplevel',
        username: client.identity.user.name,
        clientInfo: describeClient(client, this.#services.clock.monotonicMs()),
      },
      this.#services.clock.wallMs(),
    )
  }

  /** Answers an error; the transaction of the client will fail, or ends if it is EXEC that is refused. */
  #reject(client: Client, command: Command | undefined, refusal: Refusal): undefined {
    const endsTransaction = command !== undefined && isExec(command)
    if (command) command.rejectedCalls++
    if (client.transaction) client.transaction.dirty = true
    if (endsTransaction) client.endTransaction()
    const isLine = typeof refusal === 'string'
    if (endsTransaction && refusal !== CROSS_SLOT) {
      const reason = isLine ? refusal : refusal.text
      this.#reply.error(`EXECABORT Transaction discarded because of: ${reason}`)
    } else {
      this.#reply.error(isLine ? refusal : `ERR ${refusal.text}`)
    }
  }

  #run(client: Client, command: Command, request: Request): Later<Completion> | undefined {
    this.#chargedErrors = this.#reply.errorCount
    const mark = this.#reply.mark()
    let waiting: void | Later<Completion> = undefined
    this.#context.command = command
    try {
      waiting = command.spec.handler?.(this.#context, request)
      this.#note(client, command, request)
    } catch (error) {
      this.#answerFault(error, mark)
    }
    if (waiting) {
      return afterwards(waiting, (completion) => this.#countedAtEnd(command, completion))
    }
    this.#count(command)
    return undefined
  }

  /** Counts a call at its end, as Redis does: CONFIG RESETSTAT counts itself, and INFO does not yet. */
  #count(command: Command): void {
    this.#services.counters.commandsProcessed++
    command.calls++
    // Errors within EXEC are charged to the commands that failed, as in Redis.
    const errors = this.#reply.errorCount
    if (errors === this.#chargedErrors) return
    command.failedCalls++
    this.#chargedErrors = errors
  }

  #countedAtEnd(command: Command, completion: Completion): Completion {
    return (context) => {
      const waiting = completion(context)
      if (waiting) return afterwards(waiting, (next) => this.#countedAtEnd(command, next))
      this.#count(command)
    }
  }

  /**
   * Answers a command that threw, which none may, instead of what it had written; the client stays connected.
   *
   * @param mark Beginning of its reply.
   */
  #answerFault(error: unknown, mark: number): void {
    const { counters, log } = this.#services
    const { client } = this.#context
    counters.internalErrors++
    log.error({ err: error, id: client.id, command: client.lastCommand }, 'a command failed')
    this.#reply.rollback(mark)
    this.#context.repliedByPush = false
    this.#reply.error('ERR internal error')
  }

  /** Counts the time of a command, and shows it to the monitors. */
  #note(client: Client, command: Command, request: Request): void {
    const { clock, slowLog, monitors, latency } = this.#services
    const nowMs = clock.monotonicMs()
    const microseconds = (nowMs - this.#markMs) * 1000
    this.#markMs = nowMs
    client.work += Math.trunc(microseconds)
    command.addTime(microseconds, latency.settings.tracking)
    latency.noteCommand(command, microseconds)
    slowLog.note(client, command, request, microseconds)
    if (monitors.size > 0) monitors.show(client, command, request)
  }

  /**
   * Runs the commands of EXEC. If their replies grow beyond the output limit, no part of them is sent and the client is closed
   * after the last command: all of them are executed, or none.
   */
  #runTransaction(queue: readonly QueuedCommand[]): Promise<Completion> | undefined {
    const { client } = this.#context
    const room = this.#services.guard.roomFor(client)
    const awaited: AwaitedReply[] = []
    for (const { command, request } of queue) {
      client.work++
      const mark = this.#reply.mark()
      const later = this.#runQueued(command, request)
      if (later) awaited.push({ mark, later, isSilent: client.isSilent })
      if (this.#reply.end - this.#reply.start >= room) this.#isOverLimit = true
      if (this.#isOverLimit) this.#reply.rollback(0)
    }
    return awaited.length === 0 || this.#isOverLimit ? undefined : this.#finishLater(awaited)
  }

  /**
   * Writes the replies of a transaction once the disk has what some of them wait for. The commands have been executed; what their client
   * is sent meanwhile follows the reply.
   */
  async #finishLater(awaited: readonly AwaitedReply[]): Promise<Completion> {
    const { client } = this.#context
    const place = this.#place ?? client.output.reserve()
    this.#place = undefined
    const { buffer, start, end } = this.#reply
    const written = Buffer.from(buffer.subarray(start, end))
    this.#reply.rollback(0)
    const completions = await Promise.all(awaited.map(({ later }) => later))
    if (client.closed) this.#fillWithNothing(client, place)
    return (context) => {
      this.#place = place
      let from = 0
      for (const [at, { mark, isSilent }] of awaited.entries()) {
        this.#reply.raw(written.subarray(from, mark))
        from = mark
        const before = this.#reply.mark()
        void completions[at]?.(context)
        if (isSilent) this.#reply.rollback(before)
      }
      this.#reply.raw(written.subarray(from))
      context.repliedByPush = true
    }
  }

  /** Gives up the place of a reply that its client, being closed, does not get: it holds up what was queued before. */
  #fillWithNothing(client: Client, place: Gate): void {
    this.#context.laterReply.begin(client.protocol)
    client.output.fill(place, this.#context.laterReply)
  }

  /**
   * Runs one command of EXEC, if it is still allowed: permissions may have changed since it was queued.
   *
   * @returns The completion that writes its reply, if that waits for the disk.
   */
  #runQueued(command: Command, request: Request): Promise<Completion> | undefined {
    const { client } = this.#context
    const mark = this.#reply.mark()
    this.#context.inTransaction = true
    this.#context.repliedByPush = false
    const denial = authorize(client.identity, client.overlay, command.acl, request)
    if (denial) {
      this.#logDenial(client, denial)
      this.#reply.error(execDenialText(denial))
    } else {
      const later = this.#run(client, command, request)
      if (later instanceof Promise && command.spec.awaitsDisk) return later
      // Else only a login by token waits, and queueing refuses it, unless its issuer was added since.
      if (later) this.#reply.error(TOKEN_IN_MULTI)
    }
    if (client.isSilent && !this.#context.repliedByPush) this.#reply.rollback(mark)
    return undefined
  }
}

function isExec({ spec }: Command): boolean {
  return spec.name === 'exec'
}

/** Reports whether a command, or the transaction that it runs, publishes now. */
function publishes(command: Command, transaction: Transaction | undefined): boolean {
  if (transaction === undefined) return command.spec.publishes !== undefined
  return (
    isExec(command) && transaction.queue.some((one) => one.command.spec.publishes !== undefined)
  )
}

/**
 * Settles when a command may be executed, its client having messages in flight. Publishes overlap, up to a limit; any other
 * command waits for all answers, so that replies keep their order.
 *
 * @returns Undefined if it may be now.
 */
function untilAnswered(
  inFlight: PublishesInFlight,
  command: Command | undefined,
  request: Request,
): Promise<void> | undefined {
  if (command?.spec.publishes === undefined) return inFlight.none()
  const bytes = command.accepts(request.count) ? request.length(2) : 0
  return inFlight.isFull(bytes) ? inFlight.room(bytes) : undefined
}
