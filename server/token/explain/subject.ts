import type { User } from '../../acl/user.ts'
import type { Overlay } from '../../pubsub/subscriber.ts'
import type { CompiledGrant, SourcedSelector } from '../grant/grants.ts'
import type { Revocation } from '../revoke/revocation.ts'

/** What there is to know of a token session, live or as it would be. */
export interface ExplainedGrant {
  readonly grant: CompiledGrant
  readonly sources: readonly SourcedSelector[]
  readonly ceilings: readonly User[]
  readonly overlay: Overlay | undefined
  /** A connection is logged in with it, so that `off` of a ceiling means nothing to it. */
  readonly isLive: boolean
  /** The revocation that refuses the token as a whole. */
  readonly revocation: Revocation | undefined
  /** The revocation that takes a channel away. */
  readonly channelRevocation: (
    channel: string,
    kind: 'publish' | 'subscribe',
  ) => Revocation | undefined
  readonly findUser: (userName: string) => User | undefined
  /** The sources as they would be if the issuer could name every role. */
  readonly unboundSources: () => readonly SourcedSelector[]
}
