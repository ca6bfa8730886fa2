import { useState } from 'preact/hooks'
import { AffectedList } from '../components/change-body.tsx'
import { CommandList } from '../components/command-list.tsx'
import { Field, SelectField, TextField } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { parseDryRun } from '../model/affected.ts'
import type { Affected } from '../model/affected.ts'
import { confirm } from '../model/confirmation.ts'
import { plural } from '../model/format.ts'
import { announce } from '../model/notices.ts'
import { numberOf } from '../model/reply.ts'
import { EMPTY_FORM, KIND_TEXTS, revokeCommand, REVOCATION_KINDS } from '../model/revocations.ts'
import type { RevocationForm } from '../model/revocations.ts'
import { useSession } from '../model/session-context.ts'
import { RevocationOptions } from './revocation-options.tsx'

/** Fills in a revocation, shows whom it would hit, and revokes once that is confirmed. */
export function RevocationFormCard({ onRevoked }: { readonly onRevoked: () => void }) {
  const session = useSession()
  const [form, setForm] = useState<RevocationForm>(EMPTY_FORM)
  const [preview, setPreview] = useState<Affected>()
  const [error, setError] = useState<unknown>()
  const [field, explanation] = KIND_TEXTS[form.kind]
  const change = (changed: Partial<RevocationForm>): void => {
    setForm({ ...form, ...changed })
    setPreview(undefined)
    setError(undefined)
  }

  const dryRun = async (): Promise<Affected | undefined> => {
    setError(undefined)
    try {
      const affected = parseDryRun(await session.send(revokeCommand(form, true)))
      setPreview(affected)
      return affected
    } catch (failure) {
      setPreview(undefined)
      setError(failure)
      return undefined
    }
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
    try {
      const hit = numberOf(await session.send(command)) ?? 0
      announce(`Revoked; it hit ${plural(hit, 'live connection')}`)
      setForm({ ...EMPTY_FORM, kind: form.kind })
      setPreview(undefined)
    } catch (failure) {
      setError(failure)
    }
    onRevoked()
  }

  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault()
        void dryRun()
      }}
    >
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
    </form>
  )
}

function kindLabel(kind: RevocationForm['kind']): string {
  const [field] = KIND_TEXTS[kind]
  return field === '' ? 'Everything (ALL)' : `${field} (${kind})`
}
