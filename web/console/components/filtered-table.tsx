import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Resource } from '../model/resource.ts'
import { DataTable } from './data-table.tsx'
import type { TableProps } from './data-table.tsx'
import { Problem } from './problem.tsx'

/** What a table with a filter shows. */
interface FilteredTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly resource: Resource<readonly Row[]>
  readonly filterLabel: string
  /** The texts of a row that the filter looks into. The same function each time, or one without state. */
  readonly textsOf: (row: Row) => readonly string[]
  /** With another key it is another table: its sorting and its place begin anew, the filter stays. */
  readonly tableKey?: string
  /** In front of the filter. */
  readonly choice?: ComponentChildren
  /** Behind the filter. */
  readonly actions?: ComponentChildren
  /** Above the table. */
  readonly note?: ComponentChildren
}

/** A table of what was loaded, with the filter that narrows it. */
export function FilteredTable<Row>(props: FilteredTableProps<Row>) {
  const { resource, filterLabel, textsOf, tableKey, choice, actions, note, ...table } = props
  const { value, error, loading } = resource
  const [filter, setFilter] = useState('')
  const rows = useMemo(
    () => (value ?? []).filter((row) => matchesFilter(filter, textsOf(row))),
    [value, filter],
  )
  // What could not be loaded is not known to be empty.
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

/** The field that narrows a table; the key `/` leads to it. */
export function FilterBox(props: {
  readonly value: string
  readonly label: string
  /** How much is left of how much. */
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

/** Whether any of some texts contains each word of a filter, in whatever case. */
export function matchesFilter(filter: string, texts: readonly string[]): boolean {
  const words = filter.toLowerCase().split(/\s+/)
  const text = texts.join('\n').toLowerCase()
  return words.every((word) => text.includes(word))
}
