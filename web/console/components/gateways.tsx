import { warningsOf } from '../model/gateways.ts'
import type { WatchedGateway } from '../model/gateways.ts'
import { linkTo } from '../model/route.ts'

/** Says which gateways are fenced, late or different. Shows nothing while all is well. */
export function GatewayWarning(props: {
  readonly gateways: readonly WatchedGateway[] | undefined
  /** Links to the view of the gateways. */
  readonly isElsewhere?: boolean
}) {
  const warnings = warningsOf(props.gateways ?? [])
  if (warnings.length === 0) return null
  return (
    <div class="problem" role="alert" data-testid="gateway-warning">
      <strong>The gateways need a look.</strong>{' '}
      {props.isElsewhere && <a href={linkTo('gateways')}>All gateways</a>}
      <ul>
        {warnings.map((warning) => (
          <li key={warning} class="bad">
            {warning}
          </li>
        ))}
      </ul>
    </div>
  )
}
