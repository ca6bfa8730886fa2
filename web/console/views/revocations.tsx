import { useMemo, useState } from 'preact/hooks'
import { DataTable, RowButton } from '../components/data-table.tsx'
import type { Column } from '../components/data-table.tsx'
import { FactsDialog } from '../components/dialog.tsx'
import { Problem } from '../components/problem.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { announceOutcome, confirm } from '../model/messages.ts'
import { showDate, showId, showLeft } from '../model/format.ts'
import { listOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { parseRevocation } from '../model/revocations.ts'
import type { RevocationRow } from '../model/revocations.ts'
import { useSession } from '../model/session.ts'
import type { Command } from '../model/commands.ts'
import { RevocationFormCard } from './revocation-form.tsx'
import type { FactList } from '../components/dialog.tsx'

const REFRESH_MS = 5_000

/** Revokes tokens and channels, and lists the revocations in force. */
export function RevocationsView() {
  const session = useSession()
  const [opened, setOpened] = useState<RevocationRow>()
  const { value, error, loading, refresh } = useResource(
    async (source) =>
      listOf(await session.send(['TOKEN', 'REVOCATIONS'], source)).map(parseRevocation),
    '',
    REFRESH_MS,
  )
  const columns = useMemo(() => {
    const undo = async (row: RevocationRow): Promise<void> => {
      const command: Command = ['TOKEN', 'UNREVOKE', String(row.id)]
      const confirmed = await confirm({
        title: `Undo revocation ${row.id}?`,
        body: `${row.kind} ${row.target} is accepted again. Connections that were cut stay cut until they come back.`,
        commands: [command],
        action: 'Undo',
      })
      if (!confirmed) return
      await announceOutcome(async () => {
        await session.send(command)
        return `Revocation ${row.id} undone`
      })
      refresh()
    }
    return columnsOf((row) => void undo(row))
  }, [session])

  return (
    <>
      <ViewHeader
        title="Revocation"
        commands={[
          'TOKEN REVOKE kind target ... DRYRUN',
          'TOKEN REVOKE kind target ...',
          'TOKEN REVOCATIONS',
          'TOKEN UNREVOKE id',
        ]}
      >
        <RefreshButton loading={loading} onClick={refresh} />
      </ViewHeader>
      <RevocationFormCard onRevoked={refresh} />
      <h2 class="section">In force</h2>
      <Problem error={error} />
      <DataTable
        label="Revocations in force"
        rows={value ?? []}
        columns={columns}
        rowKey={(row) => String(row.id)}
        initialSorting={{ key: 'id', descending: true }}
        empty={loading ? 'Loading ...' : 'Nothing is revoked.'}
        onOpen={(row) => setOpened(row)}
      />
      {opened && (
        <FactsDialog
          title={`Revocation ${opened.id}`}
          facts={factsOf(opened)}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  )
}

function factsOf(row: RevocationRow): FactList {
  return [
    ['What', `${row.kind} ${row.target}`.trimEnd()],
    ['Options', row.options],
    ['Since', row.atMs ? showDate(row.atMs) : ''],
    ['Ends', row.expiresAtMs ? showDate(row.expiresAtMs) : 'never'],
    ['By', row.by],
    ['Reason', row.reason],
    ['Live connections hit', String(row.hit)],
  ]
}

function columnsOf(onUndo: (row: RevocationRow) => void): readonly Column<RevocationRow>[] {
  return [
    {
      key: 'id',
      title: 'Id',
      width: '3.5rem',
      align: 'end',
      value: (row) => row.id,
      cell: (row) => <span title={String(row.id)}>{showId(row.id)}</span>,
    },
    {
      key: 'target',
      title: 'What',
      width: 'minmax(7rem, 1.4fr)',
      narrow: true,
      value: (row) => `${row.kind} ${row.target}`,
      cell: (row) => (
        <span title={`${row.kind} ${row.target} ${row.options}`}>
          <span class="quiet small">{row.kind}</span> <b>{row.target}</b>{' '}
          <span class="quiet">{row.options}</span>
        </span>
      ),
    },
    {
      key: 'hit',
      title: 'Hits',
      width: '4rem',
      narrow: true,
      align: 'end',
      value: (row) => row.hit,
    },
    {
      key: 'expires',
      title: 'Ends',
      width: '7rem',
      value: (row) => row.expiresAtMs ?? Infinity,
      cell: (row) => (row.expiresAtMs ? showLeft(row.expiresAtMs, Date.now()) : 'never'),
    },
    {
      key: 'by',
      title: 'By',
      width: 'minmax(8rem, 1fr)',
      value: (row) => row.by,
      cell: (row) => (
        <span title={row.atMs ? showDate(row.atMs) : ''}>
          {row.by} <span class="quiet">{row.reason}</span>
        </span>
      ),
    },
    {
      key: 'undo',
      title: 'Action',
      width: '5rem',
      narrow: true,
      align: 'end',
      cell: (row) => (
        <RowButton label={`Undo revocation ${row.id}`} text="Undo" onClick={() => onUndo(row)} />
      ),
    },
  ]
}
