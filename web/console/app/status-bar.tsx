import type { ConnectionState } from '../../client/index.ts'
import { showSeconds } from '../model/format.ts'
import { useSession } from '../model/session-context.ts'

const STATUS_TEXTS: Readonly<Record<ConnectionState['status'], string>> = {
  connecting: 'Connecting',
  authenticating: 'Logging in',
  online: 'Online',
  waiting: 'Waiting',
  offline: 'No network',
  denied: 'Denied',
  closed: 'Closed',
}

/** Who is logged in, how the connection is, and what works on every view. */
export function StatusBar(props: {
  readonly showsLog: boolean
  readonly onToggleLog: () => void
  readonly onHelp: () => void
  readonly onLogOut: () => void
}) {
  const session = useSession()
  const state = session.state.value
  return (
    <header class="top">
      <p class="brand">
        Respcast <span class="quiet">console</span>
      </p>
      <p class="status" role="status" data-status={state.status} data-testid="status">
        <span class="status-name">{STATUS_TEXTS[state.status]}</span>{' '}
        <span class="quiet">{detailOf(state) || `as ${session.user}`}</span>
        {state.status === 'denied' && (
          <button type="button" onClick={() => session.client.retry()}>
            Try again
          </button>
        )}
      </p>
      <div class="actions">
        <button type="button" aria-pressed={props.showsLog} onClick={() => props.onToggleLog()}>
          Log
        </button>
        <button type="button" aria-label="Keyboard shortcuts" onClick={() => props.onHelp()}>
          ?
        </button>
        <button type="button" onClick={() => props.onLogOut()}>
          Log out
        </button>
      </div>
    </header>
  )
}

function detailOf(state: ConnectionState): string {
  if (!('cause' in state)) return ''
  const why = state.cause.text || state.cause.name
  const next = 'retryInMs' in state ? `, next try in ${showSeconds(state.retryInMs / 1000)}` : ''
  return why + next
}
