import { useMemo } from 'preact/hooks'
import type { Column } from '../components/data-table.tsx'
import { FactsDialog } from '../components/dialog.tsx'
import type { FactList } from '../components/dialog.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { GatewayWarning } from '../components/gateways.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { showDate, showFigure, showSeconds } from '../model/format.ts'
import { consoleUrl, isLate, stateOf, totalsOf } from '../model/gateways.ts'
import type { WatchedGateway } from '../model/gateways.ts'
import { useResource } from '../model/resource.ts'
import { go, route } from '../model/route.ts'
import { useSession } from '../model/session.ts'

const REFRESH_MS = 2_000

/** The gateways that share users and revocations with this one. */
export function GatewaysView() {
  const session = useSession()
  const resource = useResource((source) => session.loadGateways(source), '', REFRESH_MS)
  const gateways = resource.value ?? []
  const self = gateways.find(({ isSelf }) => isSelf)
  const columns = useMemo(() => columnsOf(self), [self?.admin])
  const opened = gateways.find((gateway) => keyOf(gateway) === route.value.parameters.get('id'))
  return (
    <>
      <ViewHeader title="Gateways" commands={['RESPCAST NODES']}>
        <RefreshButton loading={resource.loading} onClick={resource.refresh} />
      </ViewHeader>
      <GatewayWarning gateways={resource.value} />
      <FilteredTable
        resource={resource}
        filterLabel="Filter by name, address, state"
        textsOf={searchable}
        note={
          <p class="quiet" data-testid="gateway-totals">
            {self?.id === '' ? (
              <>
                This gateway shares its users and revocations with no other one (
                <code>upstream-control</code>).
              </>
            ) : (
              gateways.length > 0 && `${totalsOf(gateways)}.`
            )}
          </p>
        }
        label="Gateways"
        columns={columns}
        rowKey={keyOf}
        initialSorting={{ key: 'number', descending: false }}
        empty="There is none."
        onOpen={(gateway) => go('gateways', { id: keyOf(gateway) })}
      />
      {opened && (
        <FactsDialog
          title={`Gateway ${opened.name}`}
          facts={factsOf(opened)}
          onClose={() => go('gateways')}
        />
      )}
    </>
  )
}

function keyOf({ id }: WatchedGateway): string {
  return id === '' ? 'alone' : id
}

function searchable(gateway: WatchedGateway): readonly string[] {
  const { name, resp, http, admin, version } = gateway
  return [name, resp, http, admin, version, stateOf(gateway).text]
}

function columnsOf(self: WatchedGateway | undefined): readonly Column<WatchedGateway>[] {
  const amount = (key: 'clients' | 'sessions' | 'subscriptions', title: string, width = '4.6rem') =>
    ({
      key,
      title,
      width,
      align: 'end',
      value: (gateway: WatchedGateway) => gateway[key],
      cell: (gateway: WatchedGateway) => showFigure(gateway[key]),
    }) as const
  return [
    { key: 'number', title: '#', width: '2rem', align: 'end', value: ({ number }) => number },
    {
      key: 'name',
      title: 'Name',
      width: 'minmax(8rem, 1.6fr)',
      narrow: true,
      value: ({ name }) => name,
      cell: (gateway) => <Name gateway={gateway} self={self} />,
    },
    { key: 'version', title: 'Version', width: '4rem', value: ({ version }) => version },
    {
      key: 'up',
      title: 'Up for',
      width: '4.7rem',
      align: 'end',
      value: ({ startedAtMs }) => -startedAtMs,
      cell: ({ startedAtMs }) => showSeconds((Date.now() - startedAtMs) / 1000),
    },
    { ...amount('clients', 'Clients'), narrow: true },
    amount('sessions', 'Sessions'),
    amount('subscriptions', 'Subs', '3.4rem'),
    {
      key: 'behind',
      title: 'Behind',
      width: '4.2rem',
      align: 'end',
      value: ({ behindMs }) => behindMs,
      cell: (gateway) =>
        gateway.behindMs > 0 && (
          <span class={isLate(gateway) ? 'bad' : 'quiet'}>
            {showSeconds(gateway.behindMs / 1000)}
          </span>
        ),
    },
    {
      key: 'lease',
      title: 'Lease',
      width: '4.7rem',
      align: 'end',
      value: ({ leaseMs }) => leaseMs ?? -1,
      cell: ({ leaseMs }) => (leaseMs === undefined ? '–' : showSeconds(leaseMs / 1000)),
    },
    {
      key: 'state',
      title: 'State',
      width: '7.2rem',
      narrow: true,
      value: (gateway) => stateOf(gateway).text,
      cell: (gateway) => {
        const { text, rank } = stateOf(gateway)
        return <span class={rank}>{text}</span>
      },
    },
  ]
}

function Name(props: {
  readonly gateway: WatchedGateway
  readonly self: WatchedGateway | undefined
}) {
  const { gateway, self } = props
  const { name, isSelf } = gateway
  const url = consoleUrl(gateway, self, new URL(location.href))
  return (
    <>
      {url === undefined ? (
        <b title={name}>{name}</b>
      ) : (
        <a href={url} target="_blank" rel="noreferrer" title={`The console of ${name}`}>
          {name}
        </a>
      )}
      {isSelf && <span class="quiet"> this one</span>}
    </>
  )
}

function factsOf(gateway: WatchedGateway): FactList {
  const { behindMs, leaseMs, digests } = gateway
  return [
    ['State', stateOf(gateway).text],
    ['Draining', gateway.isDraining ? 'yes' : 'no'],
    ['Number', String(gateway.number)],
    ['Id', gateway.id],
    ['Version', gateway.version],
    ['Started', showDate(gateway.startedAtMs)],
    ['RESP', gateway.resp],
    ['HTTP', gateway.http],
    ['Administrators', gateway.admin],
    ['Clients', gateway.clients.toLocaleString('en')],
    ['Sessions of tokens', gateway.sessions.toLocaleString('en')],
    ['Channels and patterns', gateway.subscriptions.toLocaleString('en')],
    ['Last change applied', gateway.applied],
    ['Behind the others for', behindMs === 0 ? '' : showSeconds(behindMs / 1000)],
    ['Lease ends in', leaseMs === undefined ? '' : showSeconds(leaseMs / 1000)],
    ['Digest of issuers', digests.issuers],
    ['Digest of the ACL settings', digests.acl],
  ]
}
