import { affectedBy } from '../model/affected.ts'
import type { Affected } from '../model/affected.ts'
import type { RuleChange } from '../model/acl-rules.ts'
import { userKind } from '../model/acl-rules.ts'
import { confirm } from '../model/confirmation.ts'
import { announce } from '../model/notices.ts'
import type { Command } from '../model/command.ts'
import type { Session } from '../model/session.ts'
import { changeBody } from '../components/change-body.tsx'

/**
 * Asks with what changes and whom it reaches, then puts rules in the place of those that a user has.
 *
 * @returns It was done.
 * @throws {RespcastError} As {@link Session.send}.
 */
export async function saveUser(
  session: Session,
  name: string,
  rules: readonly string[],
  change: RuleChange,
): Promise<boolean> {
  // The server says what is wrong with a role before anybody is asked; ACL SETUSER changes nothing where it finds a fault.
  if (userKind(name) === 'role' && rules.length > 0) {
    await session.send(['RESPCAST', 'CHECK', ...rules])
  }
  const command: Command = ['ACL', 'SETUSER', name, 'reset', ...rules]
  const confirmed = await confirm({
    title: `Save ${name}?`,
    body: changeBody(await reach(session, name), consequence(name), change),
    commands: [command],
    action: 'Save',
  })
  if (!confirmed) return false
  await session.send(command)
  announce(`${name} saved`)
  return true
}

/**
 * Asks with whom it reaches, then deletes a user.
 *
 * @returns It was done.
 * @throws {RespcastError} As {@link Session.send}.
 */
export async function deleteUser(session: Session, name: string): Promise<boolean> {
  const command: Command = ['ACL', 'DELUSER', name]
  const text =
    userKind(name) === 'role'
      ? 'Tokens that name it lose what it grants.'
      : 'Its connections are closed.'
  const confirmed = await confirm({
    title: `Delete ${name}?`,
    body: changeBody(await reach(session, name), text),
    commands: [command],
    action: 'Delete',
    isDanger: true,
  })
  if (!confirmed) return false
  await session.send(command)
  announce(`${name} deleted`)
  return true
}

function consequence(name: string): string {
  return userKind(name) === 'user'
    ? 'Those whose subscriptions are no longer allowed are closed at once.'
    : 'They are judged anew at once: whoever holds what is no longer allowed is cut.'
}

/** Who is affected; undefined where that cannot be found out, which must not stand in the way of a change. */
async function reach(session: Session, name: string): Promise<Affected | undefined> {
  try {
    return await affectedBy(session, name)
  } catch {
    return undefined
  }
}
