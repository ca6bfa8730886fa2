import { useMemo, useState } from 'preact/hooks'
import { byteString } from '../../../shared/bytes.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import type { SubscriptionKind } from '../../client/index.ts'
import type { Column } from '../components/data-table.tsx'
import { Choice } from '../components/fields.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { LocalNote } from '../components/gateways.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import type { CommandSource } from '../model/command-log.ts'
import type { Command } from '../model/commands.ts'
import { bytesOf, labelOf, listOf, numberOf, pairsOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { go } from '../model/route.ts'
import { useSession } from '../model/session.ts'
import type { Session } from '../model/session.ts'
import { RowButton } from '../components/data-table.tsx'

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

/** Subscribed channels, patterns and shard channels, with their subscribers. */
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
        value: (row) => row.label,
        cell: (row) => <code title={row.label}>{row.label}</code>,
      },
      {
        key: 'subscribers',
        title: 'Subscribers',
        width: '6.6rem',
        narrow: true,
        align: 'end',
        value: (row) => row.subscribers ?? -1,
        cell: (row) => row.subscribers?.toLocaleString('en') ?? '–',
      },
      {
        key: 'tail',
        title: 'Action',
        width: '3.8rem',
        narrow: true,
        align: 'end',
        cell: (row) => (
          <RowButton label={`Tail ${row.label}`} text="Tail" onClick={() => tail(row)} />
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
          <>
            {kind === 'pattern' && <LocalNote what="Patterns" />}
            {(resource.value?.length ?? 0) > MAX_COUNTED && (
              <p class="quiet">Subscribers are counted for the first {MAX_COUNTED} names only.</p>
            )}
          </>
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

/** A subscribed channel, pattern or shard channel. */
interface ChannelRow {
  readonly name: Uint8Array
  /** For people. */
  readonly label: string
  /** Undefined beyond {@link MAX_COUNTED}. */
  readonly subscribers: number | undefined
}

/** A command over a WebSocket has at most 128 arguments. */
const NAMES_PER_COMMAND = 120

/** Number of channels whose subscribers are counted. */
const MAX_COUNTED = 10_000

/**
 * Lists the subscribed names: `PUBSUB CHANNELS` and `PUBSUB NUMSUB`, their forms for shard channels, or `RESPCAST PATTERNS`.
 *
 * @throws {RespcastError} As {@link Session.send}.
 */
async function loadChannels(
  session: Session,
  kind: SubscriptionKind,
  source: CommandSource,
): Promise<readonly ChannelRow[]> {
  if (kind === 'pattern') {
    const reply = await session.send(['RESPCAST', 'PATTERNS'], source)
    return pairsOf(reply).map(([name, count]) => rowOf(name, numberOf(count)))
  }
  const [list, count] = kind === 'shard' ? ['SHARDCHANNELS', 'SHARDNUMSUB'] : ['CHANNELS', 'NUMSUB']
  const names = listOf(await session.send(['PUBSUB', list], source))
  const counted = names.slice(0, MAX_COUNTED).map((name) => bytesOf(name))
  const commands: Command[] = []
  for (let at = 0; at < counted.length; at += NAMES_PER_COMMAND) {
    commands.push(['PUBSUB', count, ...counted.slice(at, at + NAMES_PER_COMMAND)])
  }
  const counts = (await session.sendAll(commands, source)).flatMap((reply) => pairsOf(reply))
  // NUMSUB answers in the order of its arguments.
  return names.map((name, at) => rowOf(name, numberOf(counts[at]?.[1])))
}

function rowOf(value: RespValue, subscribers: number | undefined): ChannelRow {
  const name = bytesOf(value)
  return { name, label: labelOf(name), subscribers }
}
