import { useEffect, useMemo, useState } from 'preact/hooks'
import { changeBody } from '../components/affected.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Field, Form, TextField } from '../components/fields.tsx'
import { Problem } from '../components/problem.tsx'
import { checkableRules, compareRules, splitRules, userKind } from '../model/acl-rules.ts'
import type { AclUser, RuleChange } from '../model/acl-rules.ts'
import { affectedBy } from '../model/affected.ts'
import type { Affected } from '../model/affected.ts'
import type { Command } from '../model/commands.ts'
import { announce, confirm } from '../model/messages.ts'
import { listOf, recordOf, textOf } from '../model/reply.ts'
import { useAction, useResource } from '../model/resource.ts'
import { useSession } from '../model/session.ts'
import type { Session } from '../model/session.ts'

/** Initial rules of a new role. */
const NEW_RULES =
  'off\nresetchannels\n-@all\n(resetchannels -@all +subscribe +psubscribe +ssubscribe &news:*)'

/** Editor of the rules of one user. The server checks them as they are typed, and nothing changes before it is confirmed. */
export function UserEditor(props: {
  /** Undefined: a new one. */
  readonly user: AclUser | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}) {
  const { user } = props
  const session = useSession()
  const [name, setName] = useState(user?.name ?? 'role:')
  const [text, setText] = useState(user?.rules.join('\n') ?? NEW_RULES)
  const { error, run } = useAction()
  const rules = useMemo(() => splitRules(text), [text])
  const change = compareRules(user?.rules ?? [], rules)
  const isChanged = change.added.length + change.removed.length > 0

  const act = (work: () => Promise<boolean>): Promise<boolean> =>
    run(async () => {
      if (!(await work())) return
      props.onSaved()
      props.onClose()
    })
  return (
    <Dialog title={user ? user.name : 'New user, role or ceiling'} wide onClose={props.onClose}>
      <Form class="stack" onSubmit={() => void act(() => saveUser(session, name, rules, change))}>
        {!user && <TextField label="Name" value={name} required onInput={setName} />}
        <Field label="Rules, as ACL SETUSER takes them" wide>
          <textarea
            rows={10}
            value={text}
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            readOnly={user?.isBinary ?? false}
            data-testid="rules"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </Field>
        {user?.isBinary && (
          <p class="warn">
            These rules hold bytes that are no text; they can be changed over RESP only.
          </p>
        )}
        <RuleCheck name={name} rules={rules} />
        <Problem error={error} />
        <footer class="dialog-footer">
          {user && user.name !== 'default' && (
            <button
              type="button"
              class="danger"
              onClick={() => void act(() => deleteUser(session, user.name))}
            >
              Delete
            </button>
          )}
          <button
            type="submit"
            class="primary"
            disabled={!isChanged || (user?.isBinary ?? false)}
            data-testid="save-user"
          >
            Save
          </button>
        </footer>
      </Form>
    </Dialog>
  )
}

/** Pause after which typing counts as finished. Milliseconds. */
const PAUSE_MS = 350

/** Checks rules on the server while they are typed, and shows its warnings. */
function RuleCheck(props: { readonly name: string; readonly rules: readonly string[] }) {
  const session = useSession()
  const text = checkableRules(props.name, props.rules).join('\n')
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const check = useResource(async () => {
    if (settled === '') return { rules: '', warnings: [] }
    const reply = recordOf(
      await session.send(['RESPCAST', 'CHECK', ...settled.split('\n')], 'refresh'),
    )
    return {
      rules: textOf(reply.get('rules')),
      warnings: listOf(reply.get('warnings') ?? []).map((warning) => textOf(warning)),
    }
  }, settled)
  // The warnings are about roles.
  const warnings = userKind(props.name) === 'role' ? (check.value?.warnings ?? []) : []
  if (check.error !== undefined) return <Problem error={check.error} />
  return (
    <div class="check-result" role="status" data-testid="rule-check">
      {check.value && (
        <p class="good">
          The server takes these rules.
          {check.value.rules !== '' && (
            <>
              {' '}
              <span class="quiet">Stored as</span> <code>{withoutHashes(check.value.rules)}</code>
            </>
          )}
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} class="warn">
          {warning}
        </p>
      ))}
    </div>
  )
}

function withoutHashes(rules: string): string {
  return rules.replaceAll(/#[0-9a-f]{64}/g, '#(hash)')
}

/**
 * Asks for confirmation, with the changes and the affected connections, then replaces the rules of a user.
 *
 * @returns True if it was done.
 * @throws {RespcastError} As {@link Session.send}.
 */
async function saveUser(
  session: Session,
  name: string,
  rules: readonly string[],
  change: RuleChange,
): Promise<boolean> {
  // The server checks a role before the question. ACL SETUSER changes nothing if it finds a fault.
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
 * Asks for confirmation, with the affected connections, then deletes a user.
 *
 * @returns True if it was done.
 * @throws {RespcastError} As {@link Session.send}.
 */
async function deleteUser(session: Session, name: string): Promise<boolean> {
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
    : 'They are checked again at once: connections that hold what is no longer allowed are closed.'
}

/** The affected connections; undefined if they cannot be determined, which does not prevent a change. */
async function reach(session: Session, name: string): Promise<Affected | undefined> {
  try {
    return await affectedBy(session, name)
  } catch {
    return undefined
  }
}
