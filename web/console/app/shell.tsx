import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ConnectionState } from '../../client/index.ts'
import { LogDrawer } from '../components/commands.tsx'
import { ConfirmHost } from '../components/dialog.tsx'
import { showSeconds } from '../model/format.ts'
import { answerConfirmation, dismissNotice, notice } from '../model/messages.ts'
import { go, linkTo, route } from '../model/route.ts'
import { SessionContext, useSession } from '../model/session.ts'
import type { Session } from '../model/session.ts'
import { LoginView } from '../views/login.tsx'
import { HelpDialog, listenToShortcuts } from './shortcuts.tsx'
import { VIEW_GROUPS, viewNamed, VIEWS } from './views.tsx'

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

/** Frame of every view: navigation, connection, command log, questions and notices. */
function Shell({ onLogOut }: { readonly onLogOut: () => void }) {
  const session = useSession()
  const [showsLog, setShowsLog] = useState(false)
  const [showsHelp, setShowsHelp] = useState(false)
  const view = viewNamed(route.value.view)
  const View = view.component

  // Layout effects run before the page is painted: a key pressed at once is handled, and keeps the focus that it set.
  useLayoutEffect(() => {
    session.sampler.start()
    const end = listenToShortcuts({
      go: (letter) => {
        const target = VIEWS.find((each) => each.letter === letter)
        if (target) go(target.name)
      },
      help: () => setShowsHelp(true),
      toggleLog: () => setShowsLog((shown) => !shown),
    })
    return () => {
      end()
      answerConfirmation(false)
    }
  }, [session])
  useLayoutEffect(() => {
    document.title = `${view.title} – Respcast console`
    // Keyboard and screen reader users continue from the heading.
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [view])

  return (
    <div class="shell" data-log={showsLog}>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the view
      </a>
      <StatusBar
        showsLog={showsLog}
        onToggleLog={() => setShowsLog(!showsLog)}
        onHelp={() => setShowsHelp(true)}
        onLogOut={onLogOut}
      />
      <Navigation current={view.name} />
      <main id="main" data-testid={`view-${view.name}`}>
        <View />
      </main>
      {showsLog && <LogDrawer onClose={() => setShowsLog(false)} />}
      {showsHelp && <HelpDialog onClose={() => setShowsHelp(false)} />}
      <ConfirmHost />
      <NoticeLine />
    </div>
  )
}

/** The address holds the view: the link must not change it. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('main h1')?.focus()
}

function NoticeLine() {
  const current = notice.value
  return (
    <div class="notice-line" role="status" data-testid="notice">
      {current && (
        <p data-failed={current.failed}>
          {current.text}
          <button type="button" class="plain" aria-label="Dismiss" onClick={dismissNotice}>
            ✕
          </button>
        </p>
      )}
    </div>
  )
}

/** The list of views: a column, on a phone a row that scrolls. */
function Navigation({ current }: { readonly current: string }) {
  const { tail } = useSession()
  const list = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    // On a phone the list is a row that scrolls.
    const link = list.current?.querySelector('[aria-current]')
    link?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [current])
  const isTailing = tail.view.value.status === 'live'
  return (
    <nav aria-label="Views" ref={list}>
      {VIEW_GROUPS.map(({ title, views }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul>
            {views.map((view) => (
              <li key={view.name}>
                <a
                  href={linkTo(view.name)}
                  aria-current={view.name === current ? 'page' : undefined}
                >
                  {view.title}
                  {view.name === 'tail' && isTailing && <span class="dot" title="listening" />}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  )
}

const STATUS_TEXTS: Readonly<Record<ConnectionState['status'], string>> = {
  connecting: 'Connecting',
  authenticating: 'Logging in',
  online: 'Online',
  waiting: 'Waiting',
  offline: 'No network',
  denied: 'Denied',
  closed: 'Closed',
}

/** The user, the state of the connection, and the actions of every view. */
function StatusBar(props: {
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
