import { useState } from 'preact/hooks'
import { CommandList } from '../components/commands.tsx'
import type { Column } from '../components/data-table.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Field, Form } from '../components/fields.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { Problem } from '../components/problem.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import type { Command } from '../model/commands.ts'
import { DIRECTIVES, isEditable } from '../model/directives.ts'
import { announce, announceOutcome, confirm } from '../model/messages.ts'
import { pairsOf, textOf } from '../model/reply.ts'
import { useAction, useResource } from '../model/resource.ts'
import { go, route } from '../model/route.ts'
import { useSession } from '../model/session.ts'

/** A directive with its value. */
interface ConfigurationRow {
  readonly name: string
  readonly value: string
}

const COLUMNS: readonly Column<ConfigurationRow>[] = [
  {
    key: 'name',
    title: 'Directive',
    width: 'minmax(8rem, 1.3fr)',
    narrow: true,
    value: (row) => row.name,
    cell: (row) => <code title={row.name}>{row.name}</code>,
  },
  {
    key: 'value',
    title: 'Value',
    width: 'minmax(6rem, 1.3fr)',
    narrow: true,
    value: (row) => row.value,
    cell: (row) => (
      <span title={row.value} class={isChanged(row) ? 'changed' : ''}>
        {row.value === '' ? <span class="quiet">(empty)</span> : row.value}
      </span>
    ),
  },
  {
    key: 'change',
    title: 'Change',
    width: '5rem',
    value: (row) => DIRECTIVES.get(row.name)?.change ?? '',
    cell: (row) =>
      isEditable(row.name) ? (
        (DIRECTIVES.get(row.name)?.change ?? '')
      ) : (
        <span class="quiet">{DIRECTIVES.get(row.name)?.change}</span>
      ),
  },
  {
    key: 'meaning',
    title: 'Meaning',
    width: 'minmax(0, 2.2fr)',
    cell: (row) => <span title={meaning(row)}>{meaning(row)}</span>,
  },
]

/** All directives with their values; live ones can be changed. */
export function ConfigurationView() {
  const session = useSession()
  const resource = useResource(async (source) =>
    pairsOf(await session.send(['CONFIG', 'GET', '*'], source)).map(
      ([name, each]): ConfigurationRow => ({ name: textOf(name), value: textOf(each) }),
    ),
  )
  const name = route.value.parameters.get('name')
  const edited = resource.value?.find((row) => row.name === name)
  const run = async (subcommand: 'REWRITE' | 'RESETSTAT', title: string): Promise<void> => {
    const command = ['CONFIG', subcommand] as const
    if (!(await confirm({ title, commands: [command], action: 'Go on' }))) return
    await announceOutcome(async () => {
      await session.send(command)
      return `CONFIG ${subcommand} done`
    })
  }
  return (
    <>
      <ViewHeader
        title="Configuration"
        commands={['CONFIG GET *', 'CONFIG SET name value', 'CONFIG REWRITE', 'CONFIG RESETSTAT']}
      >
        <RefreshButton loading={resource.loading} onClick={resource.refresh} />
        <button
          type="button"
          onClick={() => void run('RESETSTAT', 'Set what INFO counts to zero?')}
        >
          Reset counters
        </button>
        <button
          type="button"
          onClick={() => void run('REWRITE', 'Write the values in force to the file?')}
        >
          Write to file
        </button>
      </ViewHeader>
      <FilteredTable
        resource={resource}
        filterLabel="Filter by name, value or meaning"
        textsOf={(row) => [row.name, row.value, meaning(row)]}
        label="Directives"
        columns={COLUMNS}
        rowKey={(row) => row.name}
        initialSorting={{ key: 'name', descending: false }}
        empty="No directive."
        onOpen={(row) => go('configuration', { name: row.name })}
      />
      {edited && (
        <DirectiveEditor
          key={edited.name}
          row={edited}
          onSaved={resource.refresh}
          onClose={() => go('configuration')}
        />
      )}
    </>
  )
}

function meaning(row: ConfigurationRow): string {
  return DIRECTIVES.get(row.name)?.meaning ?? ''
}

/** The manual writes an empty value as `""`. Values in other units than the manual's are not compared. */
function isChanged({ name, value }: ConfigurationRow): boolean {
  const initial = DIRECTIVES.get(name)?.initial
  return initial !== undefined && /^(\d+|yes|no|"")$/.test(initial)
    ? (initial === '""' ? '' : initial) !== value
    : false
}

/** One directive, which can be changed if the server accepts that at run time. */
function DirectiveEditor(props: {
  readonly row: { readonly name: string; readonly value: string }
  readonly onSaved: () => void
  readonly onClose: () => void
}) {
  const { name } = props.row
  const session = useSession()
  const [value, setValue] = useState(props.row.value)
  const { error, run } = useAction()
  const directive = DIRECTIVES.get(name)
  const editable = isEditable(name)
  const command: Command = ['CONFIG', 'SET', name, value]
  const save = (): Promise<boolean> =>
    run(async () => {
      await session.send(command)
      announce(`${name} is ${value === '' ? 'empty' : value} now`)
      props.onSaved()
      props.onClose()
    })
  return (
    <Dialog title={name} onClose={props.onClose}>
      <Form class="stack" onSubmit={() => void save()}>
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
          <p class="quiet">It is read at start: change it in the file, and restart the server.</p>
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
      </Form>
    </Dialog>
  )
}
