import { useState } from 'preact/hooks'
import type { LogEntry } from '../model/command-log.ts'
import { commandText } from '../model/commands.ts'
import type { Command } from '../model/commands.ts'
import { showTime } from '../model/format.ts'
import { useSession } from '../model/session.ts'

/** Number of commands that are written out. */
const MAX_SHOWN = 8

/** Commands as typed into redis-cli. */
export function CommandList({ commands }: { readonly commands: readonly Command[] }) {
  const texts = commands.slice(0, MAX_SHOWN).map((command) => commandText(command))
  if (commands.length > MAX_SHOWN) texts.push(`... and ${commands.length - MAX_SHOWN} more`)
  return (
    <pre class="commands" tabindex={0} aria-label="Commands" data-testid="commands">
      {texts.join('\n')}
    </pre>
  )
}

/** The command log, newest first: each command with its duration and reply. */
export function LogDrawer(props: { readonly onClose: () => void }) {
  const { log } = useSession()
  const [withRefreshes, setWithRefreshes] = useState(false)
  const entries = withRefreshes
    ? [...log.of('user').value, ...log.of('refresh').value].sort((a, b) => b.id - a.id)
    : log.of('user').value.toReversed()
  return (
    <aside class="log" aria-label="Command log" data-testid="log">
      <header>
        <h2>Command log</h2>
        <label class="check">
          <input
            type="checkbox"
            checked={withRefreshes}
            onChange={(event) => setWithRefreshes(event.currentTarget.checked)}
          />
          automatic too
        </label>
        <button type="button" onClick={() => log.clear()}>
          Clear
        </button>
        <button
          type="button"
          class="plain"
          aria-label="Close the log"
          onClick={() => props.onClose()}
        >
          ✕
        </button>
      </header>
      <ol tabindex={0} aria-label="Commands, newest first">
        {entries.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
        {entries.length === 0 && <li class="quiet">Nothing yet.</li>}
      </ol>
    </aside>
  )
}

function Entry({ entry }: { readonly entry: LogEntry }) {
  const took = entry.tookMs === undefined ? '...' : `${entry.tookMs.toFixed(1)} ms`
  return (
    <li data-outcome={entry.outcome}>
      <details>
        <summary>
          <time>{showTime(entry.atMs)}</time>
          <code>{entry.command}</code>
          <span class="took">{took}</span>
        </summary>
        <pre>{entry.reply}</pre>
      </details>
    </li>
  )
}
