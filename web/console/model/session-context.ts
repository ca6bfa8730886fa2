import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Session } from './session.ts'

/** Whoever is logged in, for all that is shown to them. */
export const SessionContext = createContext<Session | undefined>(undefined)

/**
 * The session of the view.
 *
 * @throws {TypeError} Outside of a session: views are shown to whoever is logged in only.
 */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new TypeError('There is no session')
  return session
}
