import { Dialog } from '../components/dialog.tsx'
import { VIEWS } from './views.tsx'

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

/** Lists what the keyboard does. */
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
