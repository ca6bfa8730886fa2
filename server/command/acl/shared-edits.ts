import { NO_DEFAULT } from '../../acl/users.ts'
import type { CommitOutcome, CommitRequest } from '../../control/control.ts'
import type { ErrorLine, ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { textsFrom } from '../arguments.ts'
import { actorOf, ALL_SOON, notConfirmedText } from '../commit.ts'
import type { CommandContext, Services } from '../context.ts'
import type { Refusal } from '../error-texts.ts'
import { utf8Bytes } from '../replies.ts'
import type { Completion } from '../spec.ts'

/** Times that an edit is made on top of others that came first. */
const MOST_TRIES = 5

type Changes = CommitRequest['changes']

type Committed = Extract<CommitOutcome, { readonly state: 'committed' }>

/** An edit of users: what it changes, and what became of that, if it was anything; or the error line. */
type EditResult =
  | { readonly changes: Changes; readonly outcome: Committed | undefined }
  | { readonly error: ErrorLine }

/** Refuses an edit of users inside MULTI where gateways share them: it waits for the others, and EXEC cannot. */
export function refuseSharedInMulti(
  { server }: CommandContext,
  request: Request,
): Refusal | undefined {
  const names = textsFrom(request, 2)
  const edited = request.text(1).toLowerCase() === 'setuser' ? names.slice(0, 1) : names
  const isLocal = edited.length > 0 && edited.every((name) => server.sharedUsers.isLocal(name))
  if (server.control.isAlone || isLocal) return undefined
  return { text: 'Command not allowed inside a transaction where gateways share users' }
}

/** ACL SETUSER of a user that gateways share. */
export async function setSharedUser(
  context: CommandContext,
  name: string,
  rules: readonly string[],
): Promise<Completion> {
  const { server } = context
  const edit = (): ReturnType<typeof server.sharedUsers.edit> =>
    server.sharedUsers.edit(name, rules)
  const result = await commitUsers(server, actorOf(context), edit)
  return answer(server, result, (reply) => reply.ok())
}

/** ACL DELUSER where gateways share users. Those of this gateway alone are deleted once the others are. */
export async function deleteSharedUsers(
  context: CommandContext,
  names: readonly string[],
): Promise<Completion> {
  const { server } = context
  const { sharedUsers, users } = server
  const shared = names.filter((name) => !sharedUsers.isLocal(name))
  const result = await commitUsers(server, actorOf(context), () =>
    names.includes('default') ? { error: NO_DEFAULT } : { changes: sharedUsers.deletion(shared) },
  )
  if ('error' in result) return ({ reply }) => reply.error(result.error)
  const local = users.deleteUsers(names.filter((name) => sharedUsers.isLocal(name)))
  const count = result.changes.length + ('deleted' in local ? local.deleted.length : 0)
  return answer(server, result, (reply) => reply.integer(count))
}

/**
 * ACL LOAD where gateways share users: all users become those of the file, in one entry, or in several if they are very many. Those of
 * this gateway alone follow last.
 */
export async function loadSharedUsers(context: CommandContext): Promise<Completion> {
  const { server } = context
  const actor = actorOf(context)
  const file = server.aclFile.read()
  if ('error' in file) return ({ reply }) => reply.error(`ERR ${file.error}`)
  const difference = (): { readonly changes: Changes } => ({
    changes: server.sharedUsers.differences(file.users),
  })
  let count = 0
  let unconfirmed: ErrorLine | undefined
  let result = await commitUsers(server, actor, difference)
  while ('outcome' in result && result.outcome) {
    count += result.changes.length
    unconfirmed = unconfirmedError(result.outcome) ?? unconfirmed
    if (!result.outcome.isHere) break
    result = await commitUsers(server, actor, difference)
  }
  if ('error' in result || result.outcome) {
    const error = 'error' in result ? result.error : (unconfirmed as ErrorLine)
    const rest = count === 0 ? '' : ` (${count} changes were committed: load it again)`
    return ({ reply }) => reply.error(`${error}${rest}`)
  }
  server.sharedUsers.loadLocal(file.users)
  return ({ reply }) => {
    if (unconfirmed === undefined) reply.ok()
    else reply.error(unconfirmed)
  }
}

/**
 * Commits an edit, which is made again where another one came first.
 *
 * @param edit Computes it on top of what is in force now, and changes nothing.
 */
async function commitUsers(
  { control }: Services,
  actor: CommitRequest['actor'],
  edit: () => { readonly changes: Changes } | { readonly error: string },
): Promise<EditResult> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const edited = edit()
    if ('error' in edited) return { error: `ERR ${edited.error}` }
    const { changes } = edited
    if (changes.length === 0) return { changes, outcome: undefined }
    const outcome = await control.commit({ changes, actor, wait: ALL_SOON })
    switch (outcome.state) {
      case 'committed':
        return { changes, outcome }
      case 'refused':
        return { error: `ERR not committed: ${utf8Bytes(outcome.problem)}` }
      case 'unreachable':
        return {
          error: outcome.isSent
            ? 'TRYAGAIN unknown whether it is in force: the upstream does not answer'
            : 'TRYAGAIN not committed: the upstream does not answer',
        }
      case 'conflict':
    }
  }
  return { error: 'TRYAGAIN another edit of this user came first' }
}

/** Answers an edit: after the ACL file has it, where `acl-autosave` asks for that. */
async function answer(
  { sharedUsers }: Services,
  result: EditResult,
  write: (reply: ReplyWriter) => void,
): Promise<Completion> {
  if ('error' in result) return ({ reply }) => reply.error(result.error)
  const { changes, outcome } = result
  const fileError = outcome?.isHere ? await sharedUsers.savedWith(changes) : undefined
  const error = outcome && unconfirmedError(outcome)
  return ({ reply }) => {
    if (error !== undefined) reply.error(error)
    else if (fileError === undefined) write(reply)
    else reply.error(`MISCONF the change is in force but not saved: ${fileError}`)
  }
}

/** The error line about an edit that is in the log; undefined where all gateways have confirmed it. */
function unconfirmedError({ isHere, isDurable, missing }: Committed): ErrorLine | undefined {
  const place = isHere ? 'in force in the log and here' : 'in the log, and not in force here yet'
  if (missing.length > 0) return `NOREPLICAS ${place}, ${notConfirmedText(missing)}`
  if (!isHere) return `NOREPLICAS ${place}`
  return isDurable ? undefined : 'MISCONF the change is in force but not durable'
}
