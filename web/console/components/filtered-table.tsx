import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Resource } from '../model/resource.ts'
import { DataTable } from './data-table.tsx'
import type { TableProps } from './data-table.tsx'
import { Problem } from './problem.tsx'

/** Properties of a table with a filter. */
interface FilteredTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly resource: Resource<readonly Row[]>
  readonly filterLabel: string
  /** The texts of a row that the filter searches. Must be a stable or pure function. */
  readonly textsOf: (row: Row) => readonly string[]
  /** Another key makes another table: sorting and position start over, the filter stays. */
  readonly tableKey?: string
  /** Before the filter. */
  readonly choice?: ComponentChildren
  /** After the filter. */
  readonly actions?: ComponentChildren
  /** Above the table. */
  readonly note?: ComponentChildren
}

/** A table of a loaded list, with a filter. */
export function FilteredTable<Row>(props: FilteredTableProps<Row>) {
  const { resource, filterLabel, textsOf, tableKey, choice, actions, note, ...table } = props
  const { value, error, loading } = resource
  const [filter, setFilter] = useState('')
  const rows = useMemo(
    () => (value ?? []).filter((row) => matchesFilter(filter, textsOf(row))),
    [value, filter],
  )
  // A list that could not be loaded is not known to be empty.
  const isEmpty = filter === '' && value !== undefined
  const empty = isEmpty ? table.empty : 'Nothing matches.'
  return (
    <>
      <div class="toolbar">
        {choice}
        <FilterBox
          label={filterLabel}
          value={filter}
          shown={rows.length}
          total={value?.length ?? 0}
          onInput={setFilter}
        />
        {actions}
      </div>
      <Problem error={error} />
      {note}
      <DataTable key={tableKey} {...table} rows={rows} empty={loading ? 'Loading ...' : empty} />
    </>
  )
}

/** The filter field of a table. The key `/` moves to it. */
function FilterBox(props: {
  readonly value: string
  readonly label: string
  /** Number of rows shown, out of the total. */
  readonly shown: number
  readonly total: number
  readonly onInput: (value: string) => void
}) {
  const count = props.total.toLocaleString('en')
  return (
    <div class="filter">
      <input
        type="search"
        data-filter
        aria-label={props.label}
        placeholder={props.label}
        value={props.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      <span class="quiet" role="status">
        {props.shown === props.total ? count : `${props.shown.toLocaleString('en')} of ${count}`}
      </span>
    </div>
  )
}

/** Reports whether the texts contain each word of a filter, ignoring case. */
export function matchesFilter(filter: string, texts: readonly string[]): boolean {
  const words = filter.toLowerCase().split(/\s+/)
  const text = texts.join('\n').toLowerCase()
  return words.every((word) => text.includes(word))
}
