import { useMemo, useState } from 'preact/hooks'
import type { RespValue } from '../../../shared/resp/types.ts'
import type { Column } from '../components/data-table.tsx'
import { FactsDialog } from '../components/dialog.tsx'
import { Choice } from '../components/fields.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { showDate } from '../model/format.ts'
import { fieldsOf, listOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { useSession } from '../model/session.ts'
import type { FactList } from '../components/dialog.tsx'

/** The server keeps a thousand entries in memory. */
const AUDIT = ['RESPCAST', 'AUDIT', 'COUNT', '1000'] as const
const REFUSALS = ['ACL', 'LOG', '128'] as const

const REFRESH_MS = 5_000

const FEEDS = [
  ['audit', 'Revocations'],
  ['refusals', 'Refusals'],
] as const

/** Revocations by operators, and refusals of the server, newest first. */
export function AuditView() {
  const session = useSession()
  const [feed, setFeed] = useState<'audit' | 'refusals'>('audit')
  const [opened, setOpened] = useState<AuditRow>()
  const isAudit = feed === 'audit'
  const resource = useResource(
    async (source) => {
      const reply = listOf(await session.send(isAudit ? AUDIT : REFUSALS, source))
      return reply.map(isAudit ? parseAuditEntry : parseLogEntry)
    },
    feed,
    REFRESH_MS,
  )
  const columns = useMemo(() => columnsOf(isAudit), [isAudit])
  return (
    <>
      <ViewHeader title="Audit" commands={['RESPCAST AUDIT COUNT 1000', 'ACL LOG 128']}>
        <RefreshButton loading={resource.loading} onClick={resource.refresh} />
      </ViewHeader>
      <FilteredTable
        resource={resource}
        filterLabel="Filter"
        textsOf={(row) => [row.action, row.by, row.what, row.reason]}
        choice={<Choice label="Feed" value={feed} options={FEEDS} onChange={setFeed} />}
        tableKey={feed}
        label={isAudit ? 'Revocations, newest first' : 'Refusals, newest first'}
        columns={columns}
        rowKey={(row) => row.key}
        initialSorting={{ key: 'at', descending: true }}
        empty="Nothing yet."
        onOpen={(row) => setOpened(row)}
      />
      {opened && (
        <FactsDialog
          title={`${opened.action} ${opened.what}`}
          facts={factsOf(opened, isAudit)}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  )
}

function factsOf(row: AuditRow, isAudit: boolean): FactList {
  return [
    ['When', showDate(row.atMs)],
    [isAudit ? 'By' : 'To whom', row.by],
    ['Reason', row.reason],
    [isAudit ? 'Live connections hit' : 'Times', String(row.count)],
  ]
}

function columnsOf(isAudit: boolean): readonly Column<AuditRow>[] {
  return [
    {
      key: 'at',
      title: 'When',
      width: '10.5rem',
      value: (row) => row.atMs,
      cell: (row) => <time>{showDate(row.atMs)}</time>,
    },
    {
      key: 'action',
      title: isAudit ? 'Action' : 'Refused',
      width: '6rem',
      narrow: true,
      value: (row) => row.action,
    },
    {
      key: 'what',
      title: 'What',
      width: 'minmax(0, 1.4fr)',
      narrow: true,
      value: (row) => row.what,
      cell: (row) => <b title={row.what}>{row.what}</b>,
    },
    {
      key: 'by',
      title: isAudit ? 'By' : 'To whom',
      width: 'minmax(0, 1.2fr)',
      value: (row) => row.by,
    },
    {
      key: 'reason',
      title: 'Reason',
      width: 'minmax(0, 1.2fr)',
      value: (row) => row.reason,
    },
    {
      key: 'count',
      title: isAudit ? 'Hit' : 'Times',
      width: '5rem',
      narrow: true,
      align: 'end',
      value: (row) => row.count,
    },
  ]
}

/** One line of a feed: an action of an operator, or a refusal. Texts are for display. */
interface AuditRow {
  readonly key: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly action: string
  readonly by: string
  readonly what: string
  readonly reason: string
  /** Number of sessions that were hit, or of refusals of the same kind. */
  readonly count: number
}

/** Reads one record of RESPCAST AUDIT. */
function parseAuditEntry(record: RespValue): AuditRow {
  const text = fieldsOf(record)
  const words = [text('kind').toUpperCase(), text('target'), text('options')]
  const notes = [text('reason')]
  if (text('durable') === '0') notes.push('not on disk')
  return {
    key: `${text('at')}-${text('id')}-${text('action')}`,
    atMs: Number(text('at')),
    action: text('action'),
    by: `${text('by')} ${text('address')}`.trim(),
    what: words.filter((word) => word !== '').join(' '),
    reason: notes.filter((note) => note !== '').join(', '),
    count: Number(text('hit')),
  }
}

/** Reads one record of ACL LOG. */
function parseLogEntry(record: RespValue): AuditRow {
  const text = fieldsOf(record)
  const address = /(?:^| )addr=(\S*)/.exec(text('client-info'))?.[1] ?? ''
  return {
    key: text('entry-id'),
    atMs: Number(text('timestamp-last-updated')),
    action: text('reason'),
    by: `${text('username')} ${address}`.trim(),
    what: text('object'),
    reason: text('context') === 'toplevel' ? '' : text('context'),
    count: Number(text('count')),
  }
}
