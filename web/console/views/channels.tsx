import { useMemo, useState } from 'preact/hooks'
import { byteString } from '../../../shared/bytes.ts'
import type { SubscriptionKind } from '../../client/index.ts'
import { Choice } from '../components/choice.tsx'
import type { Column } from '../components/data-table.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { loadChannels, MAX_COUNTED } from '../model/channels.ts'
import type { ChannelRow } from '../model/channels.ts'
import { useResource } from '../model/resource.ts'
import { go } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'

const KINDS = [
  ['channel', 'Channels'],
  ['pattern', 'Patterns'],
  ['shard', 'Shard channels'],
] as const satisfies readonly (readonly [SubscriptionKind, string])[]

const COMMANDS: Readonly<Record<SubscriptionKind, readonly string[]>> = {
  channel: ['PUBSUB CHANNELS', 'PUBSUB NUMSUB channel ...'],
  pattern: ['RESPCAST PATTERNS'],
  shard: ['PUBSUB SHARDCHANNELS', 'PUBSUB SHARDNUMSUB channel ...'],
}

const REFRESH_MS = 3_000

/** What is subscribed to, and by how many. */
export function ChannelsView() {
  const session = useSession()
  const [kind, setKind] = useState<SubscriptionKind>('channel')
  const resource = useResource((source) => loadChannels(session, kind, source), kind, REFRESH_MS)
  const columns = useMemo<readonly Column<ChannelRow>[]>(() => {
    const tail = (row: ChannelRow): void => {
      session.tail.start(kind, row.name)
      go('tail')
    }
    return [
      {
        key: 'name',
        title: kind === 'pattern' ? 'Pattern' : 'Channel',
        width: 'minmax(0, 1fr)',
        narrow: true,
        sortBy: (row) => row.label,
        cell: (row) => <code title={row.label}>{row.label}</code>,
      },
      {
        key: 'subscribers',
        title: 'Subscribers',
        width: '6.6rem',
        narrow: true,
        align: 'end',
        sortBy: (row) => row.subscribers ?? -1,
        cell: (row) => row.subscribers?.toLocaleString('en') ?? '–',
      },
      {
        key: 'tail',
        title: 'Action',
        width: '3.8rem',
        narrow: true,
        align: 'end',
        cell: (row) => (
          <button
            type="button"
            class="small"
            aria-label={`Tail ${row.label}`}
            onClick={() => tail(row)}
          >
            Tail
          </button>
        ),
      },
    ]
  }, [kind, session])

  return (
    <>
      <ViewHeader title="Channels" commands={COMMANDS[kind]}>
        <RefreshButton loading={resource.loading} onClick={resource.refresh} />
      </ViewHeader>
      <FilteredTable
        resource={resource}
        filterLabel="Filter by name"
        textsOf={({ label }) => [label]}
        choice={<Choice label="Kind" value={kind} options={KINDS} onChange={setKind} />}
        note={
          (resource.value?.length ?? 0) > MAX_COUNTED && (
            <p class="quiet">Subscribers are counted for the first {MAX_COUNTED} names only.</p>
          )
        }
        tableKey={kind}
        label="Channels"
        columns={columns}
        rowKey={(row) => byteString(row.name)}
        initialSorting={{ key: 'subscribers', descending: true }}
        empty="Nobody is subscribed."
      />
    </>
  )
}
