import { authorize, denialText, execDenialText, type Denial } from '../acl/authorize.ts'
import type { Client } from '../client/client.ts'
import { describeClient } from '../client/describe.ts'
import { ReplyWriter, type ErrorLine } from '../resp/reply-writer.ts'
import type { Request } from '../resp/request.ts'
import { crossesSlots, CROSS_SLOT } from './cluster/slots.ts'
import type { CommandContext, Services } from './context.ts'
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
import type { Completion } from './spec.ts'
import type { Command } from './table.ts'
import { enqueue, type QueuedCommand } from './transaction.ts'

/** A reply of so many bytes, as a power of two, is as much work as a command is at least. */
const REPLY_WORK_BITS = 10

/** The context that all commands share, since one command runs at a time. */
class SharedContext implements CommandContext {
  /** Set before each use. */
  client!: Client
  readonly reply: ReplyWriter
  readonly server: Services
  inTransaction = false
  repliedByPush = false
  readonly runTransaction: CommandContext['runTransaction']

  constructor(
    reply: ReplyWriter,
    server: Services,
    runTransaction: CommandContext['runTransaction'],
  ) {
    this.reply = reply
    this.server = server
    this.runTransaction = runTransaction
  }
}

/**
 * Passes requests to their commands. The checks are in the order of Redis, except that the login comes first, as in Valkey
 * 9.1: without one, a client does not learn which commands exist.
 */
export class Dispatcher {
  readonly #services: Services
  readonly #reply: ReplyWriter
  readonly #context: SharedContext
  /** Errors of the current reply that are no longer charged to a command, since one has ended. */
  #chargedErrors = 0
  /** The reply of EXEC has grown beyond what the client's output may hold. */
  #isOverLimit = false
  /** Start of the time that is counted for the next command, in monotonic milliseconds. */
  #markMs = 0

  constructor(services: Services) {
    this.#services = services
    this.#reply = new ReplyWriter((code) => services.counters.countError(code))
    this.#context = new SharedContext(this.#reply, services, (queue) => this.#runTransaction(queue))
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

  #settle(client: Client, waiting: Promise<Completion> | undefined): Promise<void> | undefined {
    this.#finish(client, waiting !== undefined)
    return waiting?.then((completion) => this.#complete(client, completion))
  }

  #complete(client: Client, completion: Completion): Promise<void> | undefined {
    if (client.closed) return undefined
    this.startBatch(this.#services.clock.monotonicMs())
    this.#begin(client)
    this.#chargedErrors = 0
    let waiting: void | Promise<Completion> = undefined
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
    this.#context.client = client
    this.#context.repliedByPush = false
    this.#context.inTransaction = false
    client.output.startCommand()
    this.#reply.begin(client.protocol)
    if (client.replyMode === 'skip-next') client.replyMode = 'skip-this'
  }

  #finish(client: Client, waits = false): void {
    if (isSilent(client)) this.#silence(client, waits)
    if (this.#isOverLimit) this.#reply.rollback(0)
    client.work += 1 + ((this.#reply.end - this.#reply.start) >> REPLY_WORK_BITS)
    client.output.finishCommand(this.#reply)
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

  /** Refuses a request, holds it until a pause is over, queues it for EXEC, or runs it: in this order. */
  #dispatch(client: Client, request: Request): Promise<Completion> | undefined {
    const { login, pause, table } = this.#services
    const command = table.find(request)
    client.lastCommand = command?.spec.name ?? ''
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
      return this.#hold(client, request)
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
    return this.#run(client, command, request)
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

  /** Dispatches a request again, with all checks, once the pause is over. */
  #hold(client: Client, request: Request): Promise<Completion> {
    const own = request.detach()
    client.isHeld = true
    return this.#services.pause.over().then(() => () => {
      client.isHeld = false
      return this.#dispatch(client, own)
    })
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
    const isExec = command?.spec.name === 'exec'
    if (command) command.rejectedCalls++
    if (client.transaction) client.transaction.dirty = true
    if (isExec) client.endTransaction()
    const isLine = typeof refusal === 'string'
    if (isExec && refusal !== CROSS_SLOT) {
      const reason = isLine ? refusal : refusal.text
      this.#reply.error(`EXECABORT Transaction discarded because of: ${reason}`)
    } else {
      this.#reply.error(isLine ? refusal : `ERR ${refusal.text}`)
    }
  }

  #run(client: Client, command: Command, request: Request): Promise<Completion> | undefined {
    this.#chargedErrors = this.#reply.errorCount
    const mark = this.#reply.mark()
    let waiting: void | Promise<Completion> = undefined
    try {
      waiting = command.spec.handler?.(this.#context, request)
      this.#note(client, command, request)
    } catch (error) {
      this.#answerFault(error, mark)
    }
    if (waiting) return waiting.then((completion) => this.#countedAtEnd(command, completion))
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
      if (waiting) return waiting.then((next) => this.#countedAtEnd(command, next))
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
  #runTransaction(queue: readonly QueuedCommand[]): void {
    const { client } = this.#context
    const room = this.#services.guard.roomFor(client)
    for (const { command, request } of queue) {
      client.work++
      this.#runQueued(command, request)
      if (this.#reply.end - this.#reply.start >= room) this.#isOverLimit = true
      if (this.#isOverLimit) this.#reply.rollback(0)
    }
  }

  /** Runs one command of EXEC, if it is still allowed: permissions may have changed since it was queued. */
  #runQueued(command: Command, request: Request): void {
    const { client } = this.#context
    const mark = this.#reply.mark()
    this.#context.inTransaction = true
    this.#context.repliedByPush = false
    const denial = authorize(client.identity, client.overlay, command.acl, request)
    if (denial) {
      this.#logDenial(client, denial)
      this.#reply.error(execDenialText(denial))
    } else if (this.#run(client, command, request)) {
      // Only a login by token waits, and queueing refuses it, unless its issuer was added since.
      this.#reply.error(TOKEN_IN_MULTI)
    }
    if (isSilent(client) && !this.#context.repliedByPush) this.#reply.rollback(mark)
  }
}

/** Reports whether CLIENT REPLY drops the reply of the command that runs; `skip-next` means the command after it. */
function isSilent({ replyMode }: Client): boolean {
  return replyMode === 'off' || replyMode === 'skip-this'
}
