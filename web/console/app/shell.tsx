import { useLayoutEffect, useState } from 'preact/hooks'
import { ConfirmHost } from '../components/confirm-host.tsx'
import { LogDrawer } from '../components/log-drawer.tsx'
import { answerConfirmation } from '../model/confirmation.ts'
import { dismissNotice, notice } from '../model/notices.ts'
import { go, route } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'
import { listenToShortcuts } from '../model/shortcuts.ts'
import { HelpDialog } from './help-dialog.tsx'
import { Navigation } from './navigation.tsx'
import { StatusBar } from './status-bar.tsx'
import { viewNamed, VIEWS } from './views.tsx'

/** What surrounds every view: navigation, connection, command log, questions and notices. */
export function Shell({ onLogOut }: { readonly onLogOut: () => void }) {
  const session = useSession()
  const [showsLog, setShowsLog] = useState(false)
  const [showsHelp, setShowsHelp] = useState(false)
  const view = viewNamed(route.value.view)
  const View = view.component

  // Both before the page is painted: a key pressed on sight must be heard, and must not lose the focus that it set.
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
    // Whoever navigates by keyboard or hears the page goes on from its head.
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

/** The address belongs to the views: the link must not change it. */
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
