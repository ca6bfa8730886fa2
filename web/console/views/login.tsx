import { messageOf } from '../model/messages.ts'
import { useState } from 'preact/hooks'
import { Field, Form } from '../components/fields.tsx'
import { logIn, webSocketUrl } from '../model/session.ts'
import type { Session } from '../model/session.ts'
import { useAction } from '../model/resource.ts'

/** Login form for an ACL user and its password, which stay in the memory of this page. */
export function LoginView({ onSession }: { readonly onSession: (session: Session) => void }) {
  const [user, setUser] = useState('')
  const [password, setPassword] = useState('')
  const { error, run } = useAction()
  const [busy, setBusy] = useState(false)

  const submit = async (): Promise<void> => {
    setBusy(true)
    await run(async () => onSession(await logIn(await webSocketUrl(), user, password)))
    setBusy(false)
  }

  return (
    <main class="login">
      <Form class="card" onSubmit={() => void submit()}>
        <h1>
          Respcast <span class="quiet">console</span>
        </h1>
        <p class="quiet">Log in as an ACL user with a password.</p>
        <Field label="User">
          <input
            name="user"
            value={user}
            required
            autofocus
            autocomplete="username"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => setUser(event.currentTarget.value)}
          />
        </Field>
        <Field label="Password">
          <input
            name="password"
            type="password"
            value={password}
            required
            autocomplete="current-password"
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </Field>
        <button type="submit" class="primary" disabled={busy}>
          Log in
        </button>
        <p class="bad" role="alert" data-testid="login-problem">
          {error !== undefined && messageOf(error)}
        </p>
        <p class="quiet small">
          Sends <code>AUTH user password</code> on a WebSocket. Nothing is stored: reloading the
          page logs out.
        </p>
      </Form>
    </main>
  )
}
