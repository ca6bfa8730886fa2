import { useState } from 'preact/hooks'
import { FilteredTable } from '../components/filtered-table.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { parseClientList } from '../model/client-list.ts'
import type { ConnectionRow } from '../model/client-list.ts'
import { killConnections } from '../model/kill.ts'
import { numberOf, textOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { go, leave, route } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'
import { ConnectionDetails } from './connection-details.tsx'
import { CONNECTION_COLUMNS } from './connection-columns.tsx'

/** A long list is made anew less often. */
const REFRESH_MS = 3_000
const SLOW_REFRESH_MS = 15_000
const LONG_LIST = 2_000

/** Who is connected, and how they are doing. */
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
    row.user,
    row.address,
    row.name,
    row.origin,
    row.transport,
    row.tokenSubject,
    row.command,
  ]
}
