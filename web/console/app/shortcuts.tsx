import { Dialog } from '../components/dialog.tsx'
import { VIEWS } from './views.tsx'

/** Actions of the keys that work on every view. */
interface ShortcutActions {
  /** `g` and a letter: the view of that letter. */
  go(letter: string): void
  help(): void
  toggleLog(): void
}

/** Time limit for the letter after `g`. Milliseconds. */
const SEQUENCE_MS = 1_500

/** Listens to the keyboard, except while a field has the focus or a dialog is open. @returns A function that ends it. */
export function listenToShortcuts(actions: ShortcutActions): () => void {
  let leaderAtMs = -SEQUENCE_MS
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return
    const isSequence = performance.now() - leaderAtMs < SEQUENCE_MS
    leaderAtMs = -SEQUENCE_MS
    if (isSequence) actions.go(event.key)
    else if (event.key === 'g') leaderAtMs = performance.now()
    else if (event.key === '?') actions.help()
    else if (event.key === 'l') actions.toggleLog()
    else if (event.key === '/') focusOn(event, '[data-filter]')
    else if (event.key === 'r') document.querySelector<HTMLElement>('[data-refresh]')?.click()
  }
  window.addEventListener('keydown', pressed)
  return () => window.removeEventListener('keydown', pressed)
}

function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && target.matches('input, textarea, select')
}

function focusOn(event: KeyboardEvent, selector: string): void {
  const element = document.querySelector<HTMLElement>(selector)
  if (!element) return
  event.preventDefault()
  element.focus()
}

const SHORTCUTS: readonly (readonly [keys: string, meaning: string])[] = [
  ['?', 'This list'],
  ['l', 'Open or close the command log'],
  ['/', 'To the filter of the view'],
  ['r', 'Load the view again'],
  ['Escape', 'Close a dialog'],
  ['↑ ↓ Home End', 'Move through a table that has the focus'],
  ['Enter', 'Open the row'],
  ['Space', 'Choose the row'],
]

/** The list of keyboard shortcuts. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts" data-testid="shortcuts">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
        {VIEWS.map(({ letter, title }) => (
          <div key={letter}>
            <dt>
              <kbd>g</kbd> <kbd>{letter}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
