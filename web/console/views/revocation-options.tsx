import { Field, SelectField, TextField } from '../components/field.tsx'
import { optionsOf } from '../model/revocations.ts'
import type { RevocationForm } from '../model/revocations.ts'

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
export function RevocationOptions(props: {
  readonly form: RevocationForm
  readonly onChange: (changed: Partial<RevocationForm>) => void
}) {
  const { form, onChange } = props
  const takes = optionsOf(form.kind)
  // A record that looks at no issue time has to say how long it lasts.
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
