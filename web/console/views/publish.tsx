import { useState } from 'preact/hooks'
import { Field, Form, SelectField, TextField } from '../components/fields.tsx'
import { Problem } from '../components/problem.tsx'
import { ViewHeader } from '../components/view-header.tsx'
import { parseHex, plural, showTime } from '../model/format.ts'
import { numberOf } from '../model/reply.ts'
import { useSession } from '../model/session.ts'
import { useAction } from '../model/resource.ts'

const COMMANDS = [
  ['PUBLISH', 'Channel'],
  ['SPUBLISH', 'Shard channel'],
] as const

const ENCODINGS = [
  ['text', 'Text'],
  ['hex', 'Hex'],
] as const

/** Number of publishes that are listed. */
const MAX_SENT = 20

interface Sent {
  readonly id: number
  readonly atMs: number
  readonly channel: string
  readonly receivers: number
}

/** Publishes one message. */
export function PublishView() {
  const session = useSession()
  const [command, setCommand] = useState<'PUBLISH' | 'SPUBLISH'>('PUBLISH')
  const [channel, setChannel] = useState('')
  const [payload, setPayload] = useState('')
  const [encoding, setEncoding] = useState<'text' | 'hex'>('text')
  const { error, run } = useAction()
  const [sent, setSent] = useState<readonly Sent[]>([])

  const publish = (): Promise<boolean> =>
    run(async () => {
      const bytes = encoding === 'hex' ? parseHex(payload) : payload
      if (bytes === undefined) throw new Error('The message is no pairs of hex digits')
      const receivers = numberOf(await session.send([command, channel, bytes])) ?? 0
      const id = (sent[0]?.id ?? 0) + 1
      setSent([{ id, atMs: Date.now(), channel, receivers }, ...sent].slice(0, MAX_SENT))
    })
  return (
    <>
      <ViewHeader
        title="Publish"
        commands={['PUBLISH channel message', 'SPUBLISH channel message']}
      />
      <Form class="card stack" onSubmit={() => void publish()}>
        <div class="fields">
          <SelectField label="To a" value={command} options={COMMANDS} onChange={setCommand} />
          <TextField label="Name" value={channel} required wide onInput={setChannel} />
          <SelectField
            label="Message as"
            value={encoding}
            options={ENCODINGS}
            onChange={setEncoding}
          />
        </div>
        <Field label="Message" wide>
          <textarea
            rows={6}
            value={payload}
            spellcheck={false}
            onInput={(event) => setPayload(event.currentTarget.value)}
          />
        </Field>
        <div class="row">
          <button type="submit" class="primary">
            Publish
          </button>
          <span class="quiet small">Whoever is subscribed gets it, now.</span>
        </div>
        <Problem error={error} />
      </Form>
      <div role="status" data-testid="published">
        <ol class="sent" aria-label="Published">
          {sent.map(({ id, atMs, channel: name, receivers }) => (
            <li key={id}>
              <time>{showTime(atMs)}</time> <code>{name}</code> {plural(receivers, 'receiver')}
            </li>
          ))}
        </ol>
      </div>
    </>
  )
}
