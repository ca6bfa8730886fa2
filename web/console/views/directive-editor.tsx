import { useState } from 'preact/hooks'
import { CommandList } from '../components/command-list.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { DIRECTIVES, isEditable } from '../model/directives.ts'
import { announce } from '../model/notices.ts'
import { useSession } from '../model/session-context.ts'
import type { Command } from '../model/command.ts'

/** Shows one directive, and changes it where the server takes that at run time. */
export function DirectiveEditor(props: {
  readonly row: { readonly name: string; readonly value: string }
  readonly onSaved: () => void
  readonly onClose: () => void
}) {
  const { name } = props.row
  const session = useSession()
  const [value, setValue] = useState(props.row.value)
  const [error, setError] = useState<unknown>()
  const directive = DIRECTIVES.get(name)
  const editable = isEditable(name)
  const command: Command = ['CONFIG', 'SET', name, value]
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    try {
      await session.send(command)
      announce(`${name} is ${value === '' ? 'empty' : value} now`)
      props.onSaved()
      props.onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog title={name} onClose={props.onClose}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        {directive && (
          <p>
            {directive.meaning}{' '}
            <span class="quiet">
              {directive.type}; default {directive.initial}
            </span>
          </p>
        )}
        <Field label="Value" wide>
          <input
            value={value}
            readOnly={!editable}
            autofocus
            autocomplete="off"
            spellcheck={false}
            data-testid="directive-value"
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </Field>
        {editable ? (
          <>
            <CommandList commands={[command]} />
            <p class="quiet small">
              It holds at once, and until the server stops, unless it is written to the file.
            </p>
          </>
        ) : (
          <p class="quiet">
            It is read at start: change it in the file, and start the server anew.
          </p>
        )}
        <Problem error={error} />
        <footer class="dialog-footer">
          <button type="button" onClick={() => props.onClose()}>
            {editable ? 'Cancel' : 'Close'}
          </button>
          {editable && (
            <button type="submit" class="primary" disabled={value === props.row.value}>
              Set
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  )
}
