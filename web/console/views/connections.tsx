import { useState } from 'preact/hooks'
import type { Column } from '../components/data-table.tsx'
import { Dialog, Facts } from '../components/dialog.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { LocalNote } from '../components/gateways.tsx'
import { Problem } from '../components/problem.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { killConnections } from '../model/affected.ts'
import { clientFields, parseClient, parseClientList } from '../model/client-list.ts'
import type { ConnectionRow } from '../model/client-list.ts'
import { showBytes, showId, showLeft, showSeconds } from '../model/format.ts'
import { bytesOf, labelOf, numberOf, pairsOf, recordOf, textOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { go, leave, linkTo, route } from '../model/route.ts'
import { useSession } from '../model/session.ts'
import type { Session } from '../model/session.ts'

/** A long list is reloaded less often. */
const REFRESH_MS = 3_000
const SLOW_REFRESH_MS = 15_000
const LONG_LIST = 2_000

/** The connected clients. */
export function ConnectionsView() {
  const session = useSession()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [isLong, setIsLong] = useState(false)
  const resource = useResource(
    async (source) => {
      const list = parseClientList(textOf(await session.send(['CLIENT', 'LIST'], source)))
      setIsLong(list.length > LONG_LIST)
      return list
    },
    '',
    isLong ? SLOW_REFRESH_MS : REFRESH_MS,
  )
  const own = useResource(async () => String(numberOf(await session.send(['CLIENT', 'ID']))))
  const open = route.value.parameters.get('id')
  const kill = async (victims: readonly ConnectionRow[]): Promise<void> => {
    if (await killConnections(session, victims)) {
      setChosen(new Set())
      resource.refresh()
    }
  }
  const victims = (resource.value ?? []).filter(({ id }) => chosen.has(id) && id !== own.value)

  return (
    <>
      <ViewHeader title="Connections" commands={['CLIENT LIST', 'CLIENT ID', 'CLIENT KILL ID id']}>
        <RefreshButton loading={resource.loading} onClick={resource.refresh} />
      </ViewHeader>
      <FilteredTable
        resource={resource}
        filterLabel="Search user, address, origin, token subject, command"
        textsOf={searchable}
        actions={
          <button
            type="button"
            class="danger"
            disabled={victims.length === 0}
            data-testid="kill-chosen"
            onClick={() => void kill(victims)}
          >
            Kill {victims.length === 0 ? 'selected' : victims.length}
          </button>
        }
        note={<LocalNote what="Connections" />}
        label="Connections"
        columns={CONNECTION_COLUMNS}
        rowKey={(row) => row.id}
        initialSorting={{ key: 'id', descending: false }}
        selection={{ keys: chosen, onChange: setChosen }}
        empty="Nobody is connected."
        onOpen={(row) => go('connections', { id: row.id })}
      />
      {open !== null && (
        <ConnectionDetails
          id={open}
          isOwn={open === own.value}
          onKill={(row) =>
            void kill([row]).then(() => leave('connections', { id: row.id }, 'connections'))
          }
          onClose={() => go('connections')}
        />
      )}
    </>
  )
}

function searchable(row: ConnectionRow): readonly string[] {
  return [
    `id=${row.id}`,
    `id=${showId(Number(row.id))}`,
    row.user,
    row.address,
    row.name,
    row.origin,
    row.transport,
    row.tokenSubject,
    row.command,
  ]
}

/** The columns of the table of connections. */
const CONNECTION_COLUMNS: readonly Column<ConnectionRow>[] = [
  {
    key: 'id',
    title: 'Id',
    width: '3rem',
    align: 'end',
    value: (row) => Number(row.id),
    cell: (row) => <span title={row.id}>{showId(Number(row.id))}</span>,
  },
  {
    key: 'user',
    title: 'User',
    width: 'minmax(6rem, 1.2fr)',
    narrow: true,
    value: (row) => row.user,
    cell: (row) => <b title={row.user}>{row.user === '' ? '(not logged in)' : row.user}</b>,
  },
  {
    key: 'origin',
    title: 'Origin or address',
    width: 'minmax(9rem, 1.6fr)',
    value: (row) => row.origin || row.address,
    cell: (row) => <span title={row.address}>{row.origin || row.address}</span>,
  },
  {
    key: 'transport',
    title: 'Transport',
    width: '5.2rem',
    value: (row) => row.transport,
    cell: (row) => row.transport || <span class="quiet">{row.protocol}</span>,
  },
  {
    key: 'age',
    title: 'Age',
    width: '4.7rem',
    align: 'end',
    value: (row) => row.ageSeconds,
    cell: (row) => showSeconds(row.ageSeconds),
  },
  {
    key: 'idle',
    title: 'Idle',
    width: '4.7rem',
    align: 'end',
    value: (row) => row.idleSeconds,
    cell: (row) => showSeconds(row.idleSeconds),
  },
  {
    key: 'queue',
    title: 'Queue',
    width: '5rem',
    narrow: true,
    align: 'end',
    value: (row) => row.queuedBytes,
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
    value: (row) => row.subscriptions,
  },
  {
    key: 'token',
    title: 'Token ends',
    width: '6.2rem',
    value: (row) => row.tokenEndsAtMs ?? 0,
    cell: (row) => (row.tokenEndsAtMs ? showLeft(row.tokenEndsAtMs, Date.now()) : ''),
  },
]

/** The three kinds of subscriptions: field of the reply, and title. */
const SPACES = [
  ['channels', 'Channels'],
  ['patterns', 'Patterns'],
  ['shardchannels', 'Shard channels'],
] as const

interface Held {
  readonly title: string
  /** Each name with the user who subscribed to it. */
  readonly names: readonly (readonly [name: string, user: string])[]
}

/** One connection: its line of CLIENT LIST, and its subscriptions. */
function ConnectionDetails(props: {
  readonly id: string
  /** It is the connection of the console itself. */
  readonly isOwn: boolean
  readonly onKill: (row: ConnectionRow) => void
  readonly onClose: () => void
}) {
  const session = useSession()
  const { id } = props
  const line = useResource(
    async () => textOf(await session.send(['CLIENT', 'LIST', 'ID', id])).trim(),
    id,
  )
  const held = useResource(() => subscriptionsOf(session, id), id)
  const row = line.value ? parseClient(line.value) : undefined
  return (
    <Dialog title={`Connection ${id}`} wide onClose={props.onClose}>
      <Problem error={line.error} />
      {line.value === '' && <p>It is gone.</p>}
      {row && (
        <>
          <p class="row">
            <b>{row.user}</b> <span class="quiet">{row.origin || row.address}</span>
            {row.tokenSubject !== '' && (
              <a href={linkTo('tokens', { client: id })}>What may it do?</a>
            )}
          </p>
          <h3>Subscriptions</h3>
          <Problem error={held.error} />
          {held.value?.map(({ title, names }) => (
            <HeldNames key={title} title={title} names={names} />
          ))}
          {held.value?.every(({ names }) => names.length === 0) && <p class="quiet">None.</p>}
          <h3>CLIENT LIST</h3>
          <Facts facts={[...clientFields(row.line)]} empty="–" testId="client-fields" />
          <footer class="dialog-footer">
            {props.isOwn && <span class="quiet">This is the console itself.</span>}
            <button
              type="button"
              class="danger"
              disabled={props.isOwn}
              onClick={() => props.onKill(row)}
            >
              Kill
            </button>
          </footer>
        </>
      )}
    </Dialog>
  )
}

function HeldNames({ title, names }: Held) {
  if (names.length === 0) return null
  return (
    <section class="held">
      <h4>
        {title} <span class="quiet">{names.length}</span>
      </h4>
      <ul>
        {names.map(([name, user]) => (
          <li key={name}>
            <code>{name}</code> <span class="quiet small">{user}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

async function subscriptionsOf(session: Session, id: string): Promise<readonly Held[]> {
  const reply = recordOf(await session.send(['RESPCAST', 'SUBSCRIPTIONS', id]))
  return SPACES.map(([key, title]) => ({
    title,
    names: pairsOf(reply.get(key) ?? []).map(
      ([name, user]) => [labelOf(bytesOf(name)), textOf(user)] as const,
    ),
  }))
}
