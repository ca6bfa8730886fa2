import { useMemo, useState } from 'preact/hooks'
import { DataTable } from '../components/data-table.tsx'
import type { Column } from '../components/data-table.tsx'
import { FilterBox, matchesFilter } from '../components/filter-box.tsx'
import { Problem } from '../components/problem.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { confirm } from '../model/confirmation.ts'
import { DIRECTIVES, isEditable } from '../model/directives.ts'
import { announce, announceFailure } from '../model/notices.ts'
import { pairsOf, textOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { go, route } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'
import { DirectiveEditor } from './directive-editor.tsx'

/** A directive with its value. */
export interface ConfigurationRow {
  readonly name: string
  readonly value: string
}

const COLUMNS: readonly Column<ConfigurationRow>[] = [
  {
    key: 'name',
    title: 'Directive',
    width: 'minmax(8rem, 1.3fr)',
    narrow: true,
    sortBy: (row) => row.name,
    cell: (row) => <code title={row.name}>{row.name}</code>,
  },
  {
    key: 'value',
    title: 'Value',
    width: 'minmax(6rem, 1.3fr)',
    narrow: true,
    sortBy: (row) => row.value,
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
    sortBy: (row) => DIRECTIVES.get(row.name)?.change ?? '',
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

/** Every directive with its value in force; those that are live can be changed. */
export function ConfigurationView() {
  const session = useSession()
  const [filter, setFilter] = useState('')
  const { value, error, loading, refresh } = useResource(async (source) =>
    pairsOf(await session.send(['CONFIG', 'GET', '*'], source)).map(
      ([name, each]): ConfigurationRow => ({ name: textOf(name), value: textOf(each) }),
    ),
  )
  const all = value ?? []
  const rows = useMemo(
    () => all.filter((row) => matchesFilter(filter, [row.name, row.value, meaning(row)])),
    [value, filter],
  )
  const name = route.value.parameters.get('name')
  const edited = all.find((row) => row.name === name)
  const run = async (subcommand: 'REWRITE' | 'RESETSTAT', title: string): Promise<void> => {
    const command = ['CONFIG', subcommand] as const
    if (!(await confirm({ title, commands: [command], action: 'Go on' }))) return
    try {
      await session.send(command)
      announce(`CONFIG ${subcommand} done`)
    } catch (failure) {
      announceFailure(failure)
    }
  }
  return (
    <>
      <ViewHeader
        title="Configuration"
        commands={['CONFIG GET *', 'CONFIG SET name value', 'CONFIG REWRITE', 'CONFIG RESETSTAT']}
      >
        <RefreshButton loading={loading} onClick={refresh} />
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
      <div class="toolbar">
        <FilterBox
          label="Filter by name, value or meaning"
          value={filter}
          shown={rows.length}
          total={all.length}
          onInput={setFilter}
        />
      </div>
      <Problem error={error} />
      <DataTable
        label="Directives"
        rows={rows}
        columns={COLUMNS}
        rowKey={(row) => row.name}
        initialSorting={{ key: 'name', descending: false }}
        empty={loading ? 'Loading ...' : 'Nothing matches.'}
        onOpen={(row) => go('configuration', { name: row.name })}
      />
      {edited && (
        <DirectiveEditor
          key={edited.name}
          row={edited}
          onSaved={refresh}
          onClose={() => go('configuration')}
        />
      )}
    </>
  )
}

function meaning(row: ConfigurationRow): string {
  return DIRECTIVES.get(row.name)?.meaning ?? ''
}

/** The manual writes an empty value as `""`. Values of memory may be written in other units, and then count as changed. */
function isChanged({ name, value }: ConfigurationRow): boolean {
  const initial = DIRECTIVES.get(name)?.initial
  return initial !== undefined && /^(\d+|yes|no|"")$/.test(initial)
    ? (initial === '""' ? '' : initial) !== value
    : false
}
