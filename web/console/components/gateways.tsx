import { warningsOf } from '../model/gateways.ts'
import type { WatchedGateway } from '../model/gateways.ts'
import { useSession } from '../model/session.ts'
import { readUpstream } from '../model/upstream.ts'
import { linkTo } from '../model/route.ts'

/** Reports whether the gateway of this console has an upstream, and so may be one of several. */
export function useIsOneOfSeveral(): boolean {
  return readUpstream(useSession().sampler.fields.value) !== undefined
}

/** Says that a list is not about all gateways. Shows nothing where there is but one. */
export function LocalNote({ what }: { readonly what: string }) {
  if (!useIsOneOfSeveral()) return null
  return (
    <p class="quiet" data-testid="local-note">
      {what} of this gateway only. <a href={linkTo('gateways')}>The others</a>
    </p>
  )
}

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
