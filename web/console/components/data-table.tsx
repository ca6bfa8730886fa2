import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { nextRow, sortRows, windowOf } from '../model/table.ts'
import type { Sorting } from '../model/table.ts'

/** The height of every row, that of the head included. Pixels; style/table.css has the same. */
const ROW_PIXELS = 40

/** A column of a table. */
export interface Column<Row> {
  readonly key: string
  readonly title: string
  /** A track of a CSS grid: `8rem`, `minmax(0, 2fr)`. */
  readonly width: string
  /** Shown on a phone as well; its track is then the same. */
  readonly narrow?: boolean
  readonly align?: 'end'
  /** Value that rows are sorted by, and that the cell shows by default. A column without it cannot be sorted. */
  readonly value?: (row: Row) => string | number
  /** Content of the cell, where it is more than the value. */
  readonly cell?: (row: Row) => ComponentChildren
}

/** Selection of rows by check boxes. */
interface Selection {
  readonly keys: ReadonlySet<string>
  readonly onChange: (keys: ReadonlySet<string>) => void
}

/** Properties of a table. */
export interface TableProps<Row> {
  /** Accessible name. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  /** Initial sorting. */
  readonly initialSorting?: Sorting
  readonly selection?: Selection
  /** Shown if there are no rows. */
  readonly empty: ComponentChildren
  readonly rowKey: (row: Row) => string
  /** Called on a click on a row, and on Enter. */
  readonly onOpen?: (row: Row) => void
}

/**
 * A table of any length: only the visible rows are in the document. Arrow keys, Home and End move through it, Enter opens a row,
 * the space bar selects it (WAI-ARIA pattern "grid").
 */
export function DataTable<Row>(props: TableProps<Row>) {
  const { columns, selection } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const [sorting, setSorting] = useState(props.initialSorting)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [active, setActive] = useState(-1)

  const rows = useMemo(
    () => sortRows(props.rows, columns.find(({ key }) => key === sorting?.key)?.value, sorting),
    [props.rows, columns, sorting],
  )
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return undefined
    const observer = new ResizeObserver(() => setHeight(element.clientHeight - ROW_PIXELS))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const { from, to } = windowOf(rows.length, top, height, ROW_PIXELS)
  const move = (index: number): void => {
    const element = scroller.current
    setActive(index)
    if (!element) return
    // The head stays visible above the rows, and does not scroll.
    const rowTop = index * ROW_PIXELS
    if (rowTop < element.scrollTop) element.scrollTop = rowTop
    const lowest = rowTop + ROW_PIXELS - height
    if (lowest > element.scrollTop) element.scrollTop = lowest
  }
  const pressed = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget) return
    const row = rows[active]
    const next = nextRow(event.key, active, rows.length, Math.floor(height / ROW_PIXELS))
    if (next !== undefined) move(next)
    else if (event.key === 'Enter' && row) props.onOpen?.(row)
    else if (event.key === ' ' && row && selection) toggle(selection, props.rowKey(row))
    else return
    event.preventDefault()
  }
  const tracks = (all: readonly Column<Row>[]): string =>
    [...(selection ? ['2.2rem'] : []), ...all.map(({ width }) => width)].join(' ')
  const style = {
    '--columns': tracks(columns),
    '--narrow-columns': tracks(columns.filter(({ narrow }) => narrow)),
  }

  return (
    <div
      class="table"
      role="grid"
      ref={scroller}
      style={style}
      tabindex={0}
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-multiselectable={selection !== undefined}
      aria-activedescendant={rows[active] ? `${id}-${active}` : undefined}
      onKeyDown={pressed}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onFocus={(event) => {
        if (event.target === event.currentTarget && active < 0 && rows.length > 0) setActive(0)
      }}
    >
      <HeadRow {...props} rows={rows} sorting={sorting} onSort={setSorting} />
      <div class="table-body" role="rowgroup">
        <div role="presentation" style={{ height: `${from * ROW_PIXELS}px` }} />
        {rows.slice(from, to).map((row, offset) => (
          <BodyRow
            key={props.rowKey(row)}
            {...props}
            row={row}
            id={`${id}-${from + offset}`}
            index={from + offset}
            isActive={from + offset === active}
            onActivate={() => setActive(from + offset)}
          />
        ))}
        <div role="presentation" style={{ height: `${(rows.length - to) * ROW_PIXELS}px` }} />
        {rows.length === 0 && (
          <div role="row" class="table-empty">
            <div role="gridcell">{props.empty}</div>
          </div>
        )}
      </div>
    </div>
  )
}

function HeadRow<Row>(
  props: TableProps<Row> & {
    readonly sorting: Sorting | undefined
    readonly onSort: (sorting: Sorting) => void
  },
) {
  const { selection, sorting } = props
  const allChosen =
    props.rows.length > 0 && props.rows.every((row) => selection?.keys.has(props.rowKey(row)))
  return (
    <div role="rowgroup" class="table-head">
      <div class="table-row" role="row" aria-rowindex={1}>
        {selection && (
          <div role="columnheader" class="narrow">
            <input
              type="checkbox"
              aria-label="Choose all that are shown"
              checked={allChosen}
              onChange={() =>
                selection.onChange(new Set(allChosen ? [] : props.rows.map(props.rowKey)))
              }
            />
          </div>
        )}
        {props.columns.map((column) => {
          const isSorted = sorting?.key === column.key
          const direction = sorting?.descending ? 'descending' : 'ascending'
          return (
            <div
              key={column.key}
              role="columnheader"
              class={cellClass(column)}
              aria-sort={isSorted ? direction : undefined}
            >
              {column.value ? (
                <button
                  type="button"
                  onClick={() =>
                    props.onSort({
                      key: column.key,
                      descending: isSorted ? !sorting.descending : column.align === 'end',
                    })
                  }
                >
                  {column.title}
                  <span aria-hidden="true">
                    {isSorted ? (sorting.descending ? ' ↓' : ' ↑') : ''}
                  </span>
                </button>
              ) : (
                column.title
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function BodyRow<Row>(
  props: TableProps<Row> & {
    readonly row: Row
    readonly id: string
    readonly index: number
    readonly isActive: boolean
    readonly onActivate: () => void
  },
) {
  const { row, selection } = props
  const key = props.rowKey(row)
  const isChosen = selection?.keys.has(key) ?? false
  return (
    <div
      id={props.id}
      class="table-row"
      role="row"
      aria-rowindex={props.index + 2}
      aria-selected={selection ? isChosen : undefined}
      data-active={props.isActive}
      data-opens={props.onOpen !== undefined}
      data-key={key}
      onClick={(event) => {
        props.onActivate()
        const isControl =
          event.target instanceof Element && event.target.closest('button, a, input')
        if (!isControl) props.onOpen?.(row)
      }}
    >
      {selection && (
        <div role="gridcell" class="narrow">
          <input
            type="checkbox"
            aria-label={`Choose ${key}`}
            checked={isChosen}
            onChange={() => toggle(selection, key)}
          />
        </div>
      )}
      {props.columns.map((column) => (
        <div key={column.key} role="gridcell" class={cellClass(column)}>
          {column.cell ? column.cell(row) : <Value value={column.value?.(row)} />}
        </div>
      ))}
    </div>
  )
}

function cellClass(column: { readonly narrow?: boolean; readonly align?: 'end' }): string {
  return `${column.narrow ? 'narrow' : 'wide-only'}${column.align ? ' end' : ''}`
}

function toggle(selection: Selection, key: string): void {
  const keys = new Set(selection.keys)
  if (!keys.delete(key)) keys.add(key)
  selection.onChange(keys)
}

/** A button in a row of a table. */
export function RowButton(props: {
  /** Accessible name, which tells the rows apart. */
  readonly label: string
  readonly text: string
  readonly onClick: () => void
}) {
  return (
    <button type="button" class="small" aria-label={props.label} onClick={() => props.onClick()}>
      {props.text}
    </button>
  )
}

/** A text may be cut to the width of the column: the tooltip has all of it. */
function Value({ value }: { readonly value: string | number | undefined }) {
  return typeof value === 'string' ? <span title={value}>{value}</span> : value
}
