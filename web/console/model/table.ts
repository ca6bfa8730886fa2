/** The column and direction that rows are sorted by. */
export interface Sorting {
  readonly key: string
  readonly descending: boolean
}

/** Sorts rows into a new array; rows that are equal stay in their order. Without a criterion they stay as they are. */
export function sortRows<Row>(
  rows: readonly Row[],
  by: ((row: Row) => string | number) | undefined,
  sorting: Sorting | undefined,
): readonly Row[] {
  if (!by || !sorting) return rows
  const sign = sorting.descending ? -1 : 1
  const keyed = rows.map((row) => ({ row, key: by(row) }))
  keyed.sort((a, b) => sign * compare(a.key, b.key))
  return keyed.map(({ row }) => row)
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Rows rendered above and below the visible ones, so that scrolling shows no blanks. */
const MARGIN_ROWS = 10

/** The range of rows that have to be in the document. Pixels. */
export function windowOf(
  count: number,
  scrollTop: number,
  height: number,
  rowPixels: number,
): { readonly from: number; readonly to: number } {
  const first = Math.floor(scrollTop / rowPixels)
  const last = Math.ceil((scrollTop + height) / rowPixels)
  const from = Math.min(Math.max(0, first - MARGIN_ROWS), count)
  return { from, to: Math.max(from, Math.min(count, last + MARGIN_ROWS)) }
}

/**
 * The row that a key leads to; undefined for other keys, and where there are no rows.
 *
 * @param page Number of visible rows.
 */
export function nextRow(
  key: string,
  active: number,
  count: number,
  page: number,
): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -count,
    End: count,
  }
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined
  if (step === undefined || count === 0) return undefined
  return Math.min(Math.max(active + step, 0), count - 1)
}
