import { useState } from 'preact/hooks'
import { AffectedList } from '../components/affected.tsx'
import { CommandList } from '../components/commands.tsx'
import { Field, Form, SelectField, TextField } from '../components/fields.tsx'
import { Problem } from '../components/problem.tsx'
import { parseDryRun } from '../model/affected.ts'
import type { Affected } from '../model/affected.ts'
import { plural } from '../model/format.ts'
import { announce, confirm } from '../model/messages.ts'
import { numberOf } from '../model/reply.ts'
import {
  EMPTY_FORM,
  KIND_TEXTS,
  optionsOf,
  REVOCATION_KINDS,
  revokeCommand,
} from '../model/revocations.ts'
import type { RevocationForm } from '../model/revocations.ts'
import { useSession } from '../model/session.ts'
import { useAction } from '../model/resource.ts'

/** Form of a revocation: previews the affected connections, and revokes after confirmation. */
export function RevocationFormCard({ onRevoked }: { readonly onRevoked: () => void }) {
  const session = useSession()
  const [form, setForm] = useState<RevocationForm>(EMPTY_FORM)
  const [preview, setPreview] = useState<Affected>()
  const { error, run, clear } = useAction()
  const [field, explanation] = KIND_TEXTS[form.kind]
  const change = (changed: Partial<RevocationForm>): void => {
    setForm({ ...form, ...changed })
    setPreview(undefined)
    clear()
  }

  const dryRun = async (): Promise<Affected | undefined> => {
    let affected: Affected | undefined
    await run(async () => {
      affected = parseDryRun(await session.send(revokeCommand(form, true)))
    })
    setPreview(affected)
    return affected
  }
  const revoke = async (): Promise<void> => {
    const affected = await dryRun()
    if (!affected) return
    const command = revokeCommand(form, false)
    const confirmed = await confirm({
      title: `Revoke ${form.kind} ${form.target}`.trimEnd() + '?',
      body: <AffectedList affected={affected} />,
      commands: [command],
      action: 'Revoke',
      isDanger: true,
    })
    if (!confirmed) return
    await run(async () => {
      const hit = numberOf(await session.send(command)) ?? 0
      announce(`Revoked; it hit ${plural(hit, 'live connection')}`)
      setForm({ ...EMPTY_FORM, kind: form.kind })
      setPreview(undefined)
    })
    onRevoked()
  }

  return (
    <Form class="card stack" onSubmit={() => void dryRun()}>
      <div class="fields">
        <SelectField
          label="Revoke"
          value={form.kind}
          options={REVOCATION_KINDS.map((kind) => [kind, kindLabel(kind)] as const)}
          onChange={(kind) => change({ kind, ...(kind === 'CHANNEL' ? { lasts: 'ttl' } : {}) })}
        />
        {field !== '' && (
          <TextField
            label={field}
            wide
            required
            value={form.target}
            onInput={(target) => change({ target })}
          />
        )}
      </div>
      <p class="quiet">{explanation}</p>
      <RevocationOptions form={form} onChange={change} />
      <div class="fields">
        <Field label="Reason, for the audit log" wide>
          <input
            value={form.reason}
            onInput={(event) => change({ reason: event.currentTarget.value })}
          />
        </Field>
        <Field label="Message, for the client" wide>
          <input
            value={form.message}
            onInput={(event) => change({ message: event.currentTarget.value })}
          />
        </Field>
      </div>
      <CommandList commands={[revokeCommand(form, false)]} />
      <div class="row">
        <button type="submit">Preview</button>
        <button
          type="button"
          class="danger"
          data-testid="revoke"
          onClick={(event) => {
            if (event.currentTarget.form?.reportValidity()) void revoke()
          }}
        >
          Revoke ...
        </button>
      </div>
      <div role="status" data-testid="preview">
        {preview && <AffectedList affected={preview} />}
      </div>
      <Problem error={error} />
    </Form>
  )
}

function kindLabel(kind: RevocationForm['kind']): string {
  const [field] = KIND_TEXTS[kind]
  return field === '' ? 'Everything (ALL)' : `${field} (${kind})`
}

const SCOPES = [
  ['', 'everybody'],
  ['SUB', 'one subject'],
  ['ROLE', 'one role'],
  ['GROUP', 'one group'],
] as const

const DIRECTIONS = [
  ['', 'subscribing and publishing'],
  ['SUBSCRIBE', 'subscribing only'],
  ['PUBLISH', 'publishing only'],
] as const

/** The options of TOKEN REVOKE that its kind takes. */
function RevocationOptions(props: {
  readonly form: RevocationForm
  readonly onChange: (changed: Partial<RevocationForm>) => void
}) {
  const { form, onChange } = props
  const takes = optionsOf(form.kind)
  // A revocation without an issue time needs a duration.
  const mustSay = takes.channel || (takes.issueTime && form.hard)
  const durations = [
    ...(mustSay ? [] : ([['default', 'as long as any token may live']] as const)),
    ['ttl', 'a number of seconds'],
    ['persist', 'until it is undone'],
  ] as const
  return (
    <div class="fields">
      {takes.channel && (
        <SelectField
          label="From whom"
          value={form.forKind}
          options={SCOPES}
          onChange={(forKind) => onChange({ forKind })}
        />
      )}
      {takes.channel && form.forKind !== '' && (
        <TextField
          label="Name"
          value={form.forName}
          required
          onInput={(forName) => onChange({ forName })}
        />
      )}
      {takes.channel && (
        <SelectField
          label="What"
          value={form.only}
          options={DIRECTIONS}
          onChange={(only) => onChange({ only })}
        />
      )}
      {takes.from && (
        <TextField
          label="Of issuer"
          placeholder="any"
          value={form.from}
          onInput={(from) => onChange({ from })}
        />
      )}
      {takes.issueTime && !form.hard && (
        <Field label="Issued until">
          <input
            type="datetime-local"
            step={1}
            value={form.before}
            onInput={(event) => onChange({ before: event.currentTarget.value })}
          />
        </Field>
      )}
      <SelectField
        label="Lasts"
        value={form.lasts}
        options={durations}
        onChange={(lasts) => onChange({ lasts })}
      />
      {form.lasts === 'ttl' && (
        <Field label="Seconds">
          <input
            type="number"
            min={1}
            required
            value={form.ttlSeconds}
            onInput={(event) => onChange({ ttlSeconds: event.currentTarget.value })}
          />
        </Field>
      )}
      {takes.issueTime && (
        <label class="check">
          <input
            type="checkbox"
            checked={form.hard}
            onChange={(event) => {
              const hard = event.currentTarget.checked
              const lasts = hard && form.lasts === 'default' ? 'ttl' : form.lasts
              onChange({ hard, lasts })
            }}
          />
          whenever they were issued (HARD)
        </label>
      )}
    </div>
  )
}
