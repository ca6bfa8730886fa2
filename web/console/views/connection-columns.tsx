import type { Column } from '../components/data-table.tsx'
import type { ConnectionRow } from '../model/client-list.ts'
import { showBytes, showLeft, showSeconds } from '../model/format.ts'

/** The columns of the table of connections. */
export const CONNECTION_COLUMNS: readonly Column<ConnectionRow>[] = [
  {
    key: 'id',
    title: 'Id',
    width: '2.6rem',
    align: 'end',
    sortBy: (row) => Number(row.id),
    cell: (row) => row.id,
  },
  {
    key: 'user',
    title: 'User',
    width: 'minmax(6rem, 1.2fr)',
    narrow: true,
    sortBy: (row) => row.user,
    cell: (row) => <b title={row.user}>{row.user === '' ? '(not logged in)' : row.user}</b>,
  },
  {
    key: 'origin',
    title: 'Origin or address',
    width: 'minmax(9rem, 1.6fr)',
    sortBy: (row) => row.origin || row.address,
    cell: (row) => <span title={row.address}>{row.origin || row.address}</span>,
  },
  {
    key: 'transport',
    title: 'Transport',
    width: '5.2rem',
    sortBy: (row) => row.transport,
    cell: (row) => row.transport || <span class="quiet">{row.protocol}</span>,
  },
  {
    key: 'age',
    title: 'Age',
    width: '4.7rem',
    align: 'end',
    sortBy: (row) => row.ageSeconds,
    cell: (row) => showSeconds(row.ageSeconds),
  },
  {
    key: 'idle',
    title: 'Idle',
    width: '4.7rem',
    align: 'end',
    sortBy: (row) => row.idleSeconds,
    cell: (row) => showSeconds(row.idleSeconds),
  },
  {
    key: 'queue',
    title: 'Queue',
    width: '5rem',
    narrow: true,
    align: 'end',
    sortBy: (row) => row.queuedBytes,
    cell: (row) => (
      <span class={row.queuedBytes > 0 ? 'warn' : ''}>{showBytes(row.queuedBytes)}</span>
    ),
  },
  {
    key: 'subscriptions',
    title: 'Subs',
    width: '3.2rem',
    narrow: true,
    align: 'end',
    sortBy: (row) => row.subscriptions,
    cell: (row) => row.subscriptions,
  },
  {
    key: 'token',
    title: 'Token ends',
    width: '6.2rem',
    sortBy: (row) => row.tokenEndsAtMs ?? 0,
    cell: (row) => (row.tokenEndsAtMs ? showLeft(row.tokenEndsAtMs, Date.now()) : ''),
  },
]
