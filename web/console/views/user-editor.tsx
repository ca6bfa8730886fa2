import { useMemo, useState } from 'preact/hooks'
import { Dialog } from '../components/dialog.tsx'
import { Field, TextField } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { compareRules, splitRules } from '../model/acl-rules.ts'
import type { AclUser } from '../model/acl-rules.ts'
import { deleteUser, saveUser } from './edit-user.ts'
import { useSession } from '../model/session-context.ts'
import { RuleCheck } from './rule-check.tsx'

/** Rules that a new role may start from. */
const NEW_RULES =
  'off\nresetchannels\n-@all\n(resetchannels -@all +subscribe +psubscribe +ssubscribe &news:*)'

/** Edits the rules of one user as text. The server checks them as they are typed, and nothing changes before it is confirmed. */
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
  const [error, setError] = useState<unknown>()
  const rules = useMemo(() => splitRules(text), [text])
  const change = compareRules(user?.rules ?? [], rules)
  const isChanged = change.added.length + change.removed.length > 0

  const act = async (work: Promise<boolean>): Promise<void> => {
    try {
      if (!(await work)) return
      props.onSaved()
      props.onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog title={user ? user.name : 'New user, role or ceiling'} wide onClose={props.onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void act(saveUser(session, name, rules, change))
        }}
      >
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
              onClick={() => void act(deleteUser(session, user.name))}
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
      </form>
    </Dialog>
  )
}
