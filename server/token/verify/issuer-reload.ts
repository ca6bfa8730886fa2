import { ISSUER_DIRECTIVES } from '../../config/issuers.ts'
import type { Settings } from '../../config/settings.ts'
import type { Config } from '../../config/store.ts'
import { RespcastError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { TokenAuthenticator } from '../session/authenticator.ts'
import type { TokenSessions } from '../session/sessions.ts'
import type { PreparedIssuers } from './trusted-issuers.ts'
import { configuredIssuers } from './configured-issuers.ts'

/** What {@link reloadIssuers} works with. */
export interface IssuerReloadParts {
  readonly config: Config
  readonly log: Logger
  readonly authenticator: TokenAuthenticator
  readonly sessions: TokenSessions
}

/**
 * Lets issuers be changed under a running server (CONFIG SET, SIGHUP). The candidate is made ready while the change is checked,
 * so that one that cannot be used is refused with its reason and changes nothing; it is put in force once everything else has
 * accepted the change. From then on old keys verify nothing, and sessions whose token would be refused now are cut.
 */
export function reloadIssuers({ config, log, authenticator, sessions }: IssuerReloadParts): void {
  let candidate: PreparedIssuers | undefined
  const discard = (): void => {
    if (candidate !== undefined) authenticator.issuers.discard(candidate)
    candidate = undefined
  }

  config.addValidator(ISSUER_DIRECTIVES, (settings) => {
    // What a change before this one made ready was refused by somebody else.
    discard()
    if (!isTouched(config, settings)) return undefined
    try {
      candidate = authenticator.issuers.prepare(configuredIssuers(settings))
      return undefined
    } catch (error) {
      if (error instanceof RespcastError) return error.message
      throw error
    }
  })
  config.afterChange(ISSUER_DIRECTIVES, () => {
    if (candidate === undefined) return
    const aliases = authenticator.issuers.replace(candidate)
    candidate = undefined
    const before = sessions.size
    sessions.issuersChanged(({ issuerAlias }) => aliases.has(issuerAlias))
    log.info(
      { issuers: [...aliases].map((alias) => alias ?? 'default'), cut: before - sessions.size },
      'issuers changed',
    )
  })
}

/** Whether a candidate sets any directive of issuers, be it to the value it has: key files are to be read again then. */
function isTouched(current: Settings, candidate: Settings): boolean {
  return ISSUER_DIRECTIVES.some((name) => candidate.source(name) !== current.source(name))
}
