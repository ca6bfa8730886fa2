import { useState } from 'preact/hooks'
import { Choice } from '../components/choice.tsx'
import { matchesFilter } from '../components/filter-box.tsx'
import { plural, showBytes, showTime } from '../model/format.ts'
import { showPayload } from '../model/payload.ts'
import type { PayloadFormat } from '../model/payload.ts'
import { useSession } from '../model/session-context.ts'
import { MAX_MESSAGES } from '../model/tail.ts'

const FORMATS = [
  ['auto', 'Auto'],
  ['text', 'Text'],
  ['hex', 'Hex'],
  ['json', 'JSON'],
] as const satisfies readonly (readonly [PayloadFormat, string])[]

/** The newest messages of the tail. */
export function TailFeed() {
  const { tail } = useSession()
  const { messages, received, held } = tail.view.value
  const paused = tail.paused.value
  const [format, setFormat] = useState<PayloadFormat>('auto')
  const [filter, setFilter] = useState('')
  const shown = messages
    .map((message) => ({ ...message, text: showPayload(message.payload, format) }))
    .filter(({ channel, text }) => matchesFilter(filter, [channel, text]))
    .toReversed()
  return (
    <section class="card feed-card">
      <div class="toolbar">
        <h2>
          Messages{' '}
          <span class="quiet" data-testid="tail-count">
            {received.toLocaleString('en')}
            {received > MAX_MESSAGES && `, the newest ${MAX_MESSAGES} are kept`}
          </span>
        </h2>
        <input
          type="search"
          data-filter
          aria-label="Filter messages"
          placeholder="Filter messages"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <Choice label="Show as" value={format} options={FORMATS} onChange={setFormat} />
        <button type="button" aria-pressed={paused} onClick={() => tail.pause(!paused)}>
          {paused ? `Resume (${held} new)` : 'Pause'}
        </button>
        <button type="button" onClick={() => tail.clear()}>
          Clear
        </button>
      </div>
      <div class="feed" role="log" aria-live="off" aria-label="Messages, newest first" tabindex={0}>
        <ol>
          {shown.map((message) => (
            <li key={message.id} data-testid="message">
              <p>
                <time>{showTime(message.atMs)}</time> <code class="channel">{message.channel}</code>{' '}
                <span class="quiet small">{showBytes(message.bytes)}</span>
              </p>
              <pre>{message.text}</pre>
              {message.bytes > message.payload.length && (
                <p class="quiet small">
                  The first {plural(message.payload.length, 'byte')} are shown.
                </p>
              )}
            </li>
          ))}
        </ol>
      </div>
      {shown.length === 0 && <p class="quiet">No messages.</p>}
    </section>
  )
}
