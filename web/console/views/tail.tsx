import { useState } from 'preact/hooks'
import { utf8Bytes } from '../../../shared/bytes.ts'
import type { SubscriptionKind } from '../../client/index.ts'
import { Choice, Form, SelectField, TextField } from '../components/fields.tsx'
import { matchesFilter } from '../components/filtered-table.tsx'
import { ViewHeader } from '../components/view-header.tsx'
import { plural, showBytes, showPayload, showTime } from '../model/format.ts'
import type { PayloadFormat } from '../model/format.ts'
import { useSession } from '../model/session.ts'
import { MAX_MESSAGES, SUBSCRIBE_COMMANDS } from '../model/tail.ts'

const KINDS = [
  ['pattern', 'Pattern'],
  ['channel', 'Channel'],
  ['shard', 'Shard channel'],
] as const satisfies readonly (readonly [SubscriptionKind, string])[]

/** Listens to a pattern, channel or shard channel, and shows its messages. */
export function TailView() {
  const { tail } = useSession()
  const { target, status, problem } = tail.view.value
  const [kind, setKind] = useState<SubscriptionKind>(target?.kind ?? 'pattern')
  const [name, setName] = useState(target?.label ?? '*')
  const isOn = status === 'live' || status === 'pending'
  return (
    <>
      <ViewHeader title="Tail" commands={Object.values(SUBSCRIBE_COMMANDS)} />
      <Form class="card fields" onSubmit={() => tail.start(kind, utf8Bytes(name))}>
        <SelectField label="Kind" value={kind} options={KINDS} onChange={setKind} />
        <TextField label="Name" value={name} required wide onInput={setName} />
        <button type="submit" class="primary">
          {isOn ? 'Listen to this' : 'Listen'}
        </button>
        <button type="button" disabled={!isOn} onClick={() => tail.stop()}>
          Stop
        </button>
      </Form>
      <p role="status" data-testid="tail-status" data-status={status}>
        {target && status === 'live' && (
          <>
            <span class="good">Listening</span> to {target.kind} <code>{target.label}</code>
          </>
        )}
        {target && status === 'pending' && 'Subscribing ...'}
        {status === 'refused' && <span class="bad">Refused: {problem || 'NOPERM'}</span>}
        {status === 'idle' && (
          <span class="quiet">
            Whoever listens counts as a subscriber, and the server has one more copy to send.
          </span>
        )}
      </p>
      <TailFeed />
    </>
  )
}

const FORMATS = [
  ['auto', 'Auto'],
  ['text', 'Text'],
  ['hex', 'Hex'],
  ['json', 'JSON'],
] as const satisfies readonly (readonly [PayloadFormat, string])[]

/** The newest messages of the tail. */
function TailFeed() {
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
