import { useState } from 'preact/hooks'
import { SessionContext } from '../model/session-context.ts'
import type { Session } from '../model/session.ts'
import { LoginView } from '../views/login.tsx'
import { Shell } from './shell.tsx'

/** The console: a login, then the views. Reloading the page logs out, since nothing is kept but in memory. */
export function App() {
  const [session, setSession] = useState<Session>()
  if (!session) return <LoginView onSession={setSession} />
  return (
    <SessionContext.Provider value={session}>
      <Shell
        onLogOut={() => {
          session.end()
          setSession(undefined)
        }}
      />
    </SessionContext.Provider>
  )
}
