import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Resource } from '../model/resource.ts'
import { DataTable } from './data-table.tsx'
import type { TableProps } from './data-table.tsx'
import { FilterBox, matchesFilter } from './filter-box.tsx'
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
