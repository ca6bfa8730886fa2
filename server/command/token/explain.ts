import { authorize } from '../../acl/authorize.ts'
import { EXPLANATION_FIELDS, verdictOf, type Explanation } from '../../token/explain/explain.ts'
import type { Question } from '../../token/explain/fix.ts'
import type { Request } from '../../resp/request.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import { ArgumentList } from '../../resp/request.ts'
import { InnerRequest, parseInteger } from '../arguments.ts'
import type { CommandContext } from '../context.ts'
import { wrongArity, subcommandArity } from '../error-texts.ts'
import { writeField } from '../replies.ts'
import type { Completion } from '../spec.ts'

/** TOKEN EXPLAIN <jwt> | CLIENT <id> [<command> <arg>...]. */
export function explain(context: CommandContext, request: Request): void | Promise<Completion> {
  const { reply, server } = context
  if (!isAboutClient(request)) {
    const question = questionAt(context, request, 3)
    if (question === 'refused') return undefined
    return server.explainer
      .explainToken(request.text(2), question)
      .then((explanation) => (later) => writeExplanation(later.reply, explanation))
  }
  if (request.count < 4) {
    reply.error(subcommandArity(request))
    return undefined
  }
  const id = parseInteger(request.text(3))
  const client = id === undefined ? undefined : server.clients.get(id)
  if (client === undefined) {
    reply.error(id === undefined ? 'ERR Invalid client ID' : 'ERR No such client ID')
    return undefined
  }
  const question = questionAt(context, request, 4)
  if (question === 'refused') return undefined
  const explanation = server.explainer.explainClient(client, question)
  if (explanation === undefined) reply.error('ERR The client is not logged in with a token')
  else writeExplanation(reply, explanation)
  return undefined
}

/** TOKEN WHY <command> <channel>. */
export function why(context: CommandContext, request: Request): void {
  const { client, reply, server } = context
  const command = server.table.named(request.text(2))
  if (command === undefined) {
    reply.error(`ERR Command '${request.text(2).slice(0, 128)}' not found`)
    return
  }
  const asked = ArgumentList.of(request.text(2), request.text(3))
  reply.bulk(verdictOf(authorize(client.identity, client.overlay, command.acl, asked)))
}

/** Reports whether TOKEN EXPLAIN asks about a client, and so carries no token. */
export function isAboutClient(request: Request): boolean {
  return request.count > 2 && request.text(2).toLowerCase() === 'client'
}

/** The command that a request contains from a position on; undefined if there is none. Writes the error of a wrong one. */
function questionAt(
  { reply, server }: CommandContext,
  request: Request,
  at: number,
): Question | 'refused' | undefined {
  if (request.count <= at) return undefined
  // The bytes of the request are gone when the answer is computed.
  const inner = new InnerRequest(request, at).detach()
  const command = server.table.find(inner)
  if (command === undefined) {
    reply.error(`ERR Command '${inner.text(0).slice(0, 128)}' not found`)
    return 'refused'
  }
  const { channels, name } = command.acl
  const least = channels === undefined || channels.kind === 'none' ? 1 : channels.first + 1
  if (inner.count < least) {
    reply.error(`ERR ${wrongArity(name)}`)
    return 'refused'
  }
  return { entry: command.acl, request: inner }
}

function writeExplanation(reply: ReplyWriter, explanation: Explanation): void {
  reply.map(EXPLANATION_FIELDS.length + 1)
  writeField(reply, 'allowed', explanation.allowed ? 1 : 0)
  for (const field of EXPLANATION_FIELDS) {
    writeField(reply, field, explanation[field])
  }
}
