import type { ComponentType } from 'preact'
import { AuditView } from '../views/audit.tsx'
import { ChannelsView } from '../views/channels.tsx'
import { ConfigurationView } from '../views/configuration.tsx'
import { ConnectionsView } from '../views/connections.tsx'
import { GatewaysView } from '../views/gateways.tsx'
import { HealthView } from '../views/health.tsx'
import { OverviewView } from '../views/overview.tsx'
import { PublishView } from '../views/publish.tsx'
import { RevocationsView } from '../views/revocations.tsx'
import { TailView } from '../views/tail.tsx'
import { TokensView } from '../views/tokens.tsx'
import { UsersView } from '../views/users.tsx'

/** A view of the console. */
interface View {
  /** Its name in the address. */
  readonly name: string
  readonly title: string
  /** Key after `g`. */
  readonly letter: string
  readonly component: ComponentType
}

/** The views in the order of the navigation. */
export const VIEW_GROUPS: readonly { readonly title: string; readonly views: readonly View[] }[] = [
  {
    title: 'Live',
    views: [
      { name: 'overview', title: 'Overview', letter: 'o', component: OverviewView },
      { name: 'channels', title: 'Channels', letter: 'c', component: ChannelsView },
      { name: 'connections', title: 'Connections', letter: 'n', component: ConnectionsView },
      { name: 'tail', title: 'Tail', letter: 't', component: TailView },
      { name: 'publish', title: 'Publish', letter: 'p', component: PublishView },
    ],
  },
  {
    title: 'Access',
    views: [
      { name: 'users', title: 'Users and roles', letter: 'u', component: UsersView },
      { name: 'tokens', title: 'Token inspector', letter: 'i', component: TokensView },
      { name: 'revocations', title: 'Revocation', letter: 'r', component: RevocationsView },
      { name: 'audit', title: 'Audit', letter: 'a', component: AuditView },
    ],
  },
  {
    title: 'Server',
    views: [
      {
        name: 'configuration',
        title: 'Configuration',
        letter: 'f',
        component: ConfigurationView,
      },
      { name: 'gateways', title: 'Gateways', letter: 'g', component: GatewaysView },
      { name: 'health', title: 'Health', letter: 'h', component: HealthView },
    ],
  },
]

/** All views. */
export const VIEWS: readonly View[] = VIEW_GROUPS.flatMap(({ views }) => views)

/** The view of that name; the first one for any other name. */
export function viewNamed(name: string): View {
  // There always is a first one.
  return VIEWS.find((view) => view.name === name) ?? (VIEWS[0] as View)
}
