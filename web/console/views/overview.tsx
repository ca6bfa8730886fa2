import { Chart } from '../components/chart.tsx'
import type { ChartLine } from '../components/chart.tsx'
import { GatewayWarning } from '../components/gateways.tsx'
import { Problem } from '../components/problem.tsx'
import { UpstreamWarning } from '../components/upstream.tsx'
import { ViewHeader } from '../components/view-header.tsx'
import { showBytes, showFigure } from '../model/format.ts'
import { useResource } from '../model/resource.ts'
import { useSession } from '../model/session.ts'
import { readUpstream } from '../model/upstream.ts'

const MESSAGES: readonly ChartLine[] = [
  { measure: 'published', label: 'published', color: '--chart-1' },
  { measure: 'delivered', label: 'delivered', color: '--chart-2' },
]
const NETWORK: readonly ChartLine[] = [
  { measure: 'bytesIn', label: 'in', color: '--chart-1' },
  { measure: 'bytesOut', label: 'out', color: '--chart-2' },
]
const CONNECTIONS: readonly ChartLine[] = [
  { measure: 'clients', label: 'connected', color: '--chart-1' },
  { measure: 'subscribers', label: 'subscribed', color: '--chart-2' },
]
const LATENCY: readonly ChartLine[] = [
  { measure: 'pingMs', label: 'PING, there and back', color: '--chart-1' },
]
const LOSSES: readonly ChartLine[] = [
  { measure: 'slowDisconnects', label: 'output buffer over its limit', color: '--chart-1' },
  { measure: 'rejected', label: 'connections rejected', color: '--chart-2' },
]

const GATEWAYS_REFRESH_MS = 3_000

/** Live figures, and charts of the last quarter of an hour. */
export function OverviewView() {
  const { sampler } = useSession()
  const fields = sampler.fields.value
  const { latest } = sampler.history
  const upstream = readUpstream(fields)
  const total = (name: string): string => showFigure(Number(fields.get(name) ?? 0))
  const tiles: readonly (readonly [title: string, value: string, detail: string])[] = [
    [
      'Published',
      `${showFigure(latest?.published)}/s`,
      `${total('pubsub_messages_published')} in all`,
    ],
    [
      'Delivered',
      `${showFigure(latest?.delivered)}/s`,
      `${total('pubsub_messages_delivered')} in all`,
    ],
    ['Connections', showFigure(latest?.clients), `${total('pubsub_clients')} subscribed`],
    ['Channels', total('pubsub_channels'), `${total('pubsub_patterns')} patterns`],
    ['Slow clients cut', total('client_output_buffer_limit_disconnections'), 'by output limits'],
    ['PING', showMilliseconds(latest?.pingMs), 'there and back'],
  ]
  return (
    <>
      <ViewHeader
        title="Overview"
        commands={['PING', 'INFO clients stats upstream', 'RESPCAST NODES']}
      />
      <Problem error={sampler.failure.value} />
      <UpstreamWarning upstream={upstream} />
      {upstream && <Gateways />}
      <ul class="tiles" data-testid="tiles">
        {tiles.map(([title, value, detail]) => (
          <li key={title} class="card">
            <span class="quiet">{title}</span>
            <b>{value}</b>
            <span class="quiet small">{detail}</span>
          </li>
        ))}
      </ul>
      <div class="charts">
        <Chart title="Messages" unit="per second" lines={MESSAGES} sampler={sampler} />
        <Chart
          title="Latency"
          unit="ms"
          lines={LATENCY}
          sampler={sampler}
          format={(value) => (value === undefined || value === null ? '–' : value.toFixed(1))}
        />
        <Chart title="Connections" unit="" lines={CONNECTIONS} sampler={sampler} />
        <Chart
          title="Network"
          unit="per second"
          lines={NETWORK}
          sampler={sampler}
          binary
          format={(value) =>
            value === undefined || value === null ? '–' : showBytes(Math.round(value))
          }
        />
        <Chart title="Losses" unit="per second" lines={LOSSES} sampler={sampler} />
      </div>
    </>
  )
}

/** Asks for the other gateways only where there may be some. */
function Gateways() {
  const session = useSession()
  const { value } = useResource((source) => session.loadGateways(source), '', GATEWAYS_REFRESH_MS)
  return <GatewayWarning gateways={value} isElsewhere />
}

function showMilliseconds(ms: number | undefined): string {
  return ms === undefined ? '–' : `${ms.toFixed(1)} ms`
}
