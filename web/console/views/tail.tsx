import { useState } from 'preact/hooks'
import type { SubscriptionKind } from '../../client/index.ts'
import { utf8Bytes } from '../../../shared/bytes.ts'
import { SelectField, TextField } from '../components/field.tsx'
import { ViewHeader } from '../components/view-header.tsx'
import { useSession } from '../model/session-context.ts'
import { SUBSCRIBE_COMMANDS } from '../model/tail.ts'
import { TailFeed } from './tail-feed.tsx'

const KINDS = [
  ['pattern', 'Pattern'],
  ['channel', 'Channel'],
  ['shard', 'Shard channel'],
] as const satisfies readonly (readonly [SubscriptionKind, string])[]

/** Listens to a pattern, channel or shard channel, and shows what comes. */
export function TailView() {
  const { tail } = useSession()
  const { target, status, problem } = tail.view.value
  const [kind, setKind] = useState<SubscriptionKind>(target?.kind ?? 'pattern')
  const [name, setName] = useState(target?.label ?? '*')
  const isOn = status === 'live' || status === 'pending'
  return (
    <>
      <ViewHeader title="Tail" commands={Object.values(SUBSCRIBE_COMMANDS)} />
      <form
        class="card fields"
        onSubmit={(event) => {
          event.preventDefault()
          tail.start(kind, utf8Bytes(name))
        }}
      >
        <SelectField label="Kind" value={kind} options={KINDS} onChange={setKind} />
        <TextField label="Name" value={name} required wide onInput={setName} />
        <button type="submit" class="primary">
          {isOn ? 'Listen to this' : 'Listen'}
        </button>
        <button type="button" disabled={!isOn} onClick={() => tail.stop()}>
          Stop
        </button>
      </form>
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
