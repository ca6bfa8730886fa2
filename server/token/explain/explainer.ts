import type { User } from '../../acl/user.ts'
import type { Client } from '../../client/client.ts'
import type { TokenAuthenticator } from '../session/authenticator.ts'
import { decodeCompact } from '../verify/compact.ts'
import { explain, UNEXPLAINED, type Explanation } from './explain.ts'
import type { Question } from './question.ts'
import type { ExplainedGrant } from './subject.ts'
import { fixForRefusal } from './refusal-fix.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { TokenOverlay, type RevokedChannels } from '../revoke/channels.ts'
import { issuerLabel, type Revocation } from '../revoke/revocation.ts'
import { toByteString } from '../text.ts'

/** What an explanation needs of the revocations in force. */
export interface RevocationView {
  /** The revocation that refuses a token as a whole. */
  refusing(grant: CompiledGrant): Revocation | undefined
  /** Finds the revocation that takes a channel (byte string) away from a token. */
  readonly channels: RevokedChannels
}

/** What a {@link TokenExplainer} is built with. */
export interface ExplainerParts {
  readonly authenticator: TokenAuthenticator
  readonly findUser: (userName: string) => User | undefined
  /** The grant of a live token session. */
  readonly grantOf: (client: Client) => CompiledGrant | undefined
  readonly revocations: RevocationView
}

/** Says why tokens may do what they may. Nobody is logged in by it, and nothing is counted or logged. */
export class TokenExplainer {
  readonly #parts: ExplainerParts

  constructor(parts: ExplainerParts) {
    this.#parts = parts
  }

  /**
   * Explains a token that somebody may log in with. Never rejects.
   *
   * @param token As it came, of any size.
   */
  async explainToken(token: string, question?: Question): Promise<Explanation> {
    const result = await this.#parts.authenticator.authenticate(token)
    if ('ok' in result) return explain(this.#subject(result.ok, undefined), question)
    return this.#refused(token, result.refused.detail)
  }

  #refused(token: string, detail: string): Explanation {
    const iss = claimedIssuer(token)
    const issuer = iss === undefined ? undefined : this.#parts.authenticator.issuerOf(iss)
    // The one part of a token that cannot be told from the settings: who it says it is from.
    const stranger = iss !== undefined && issuer === undefined ? `: ${toByteString(iss)}` : ''
    return {
      ...UNEXPLAINED,
      issuer: issuer && issuerLabel(issuer.alias),
      rule: `${toByteString(detail)}${stranger}`,
      fix: fixForRefusal(detail),
    }
  }

  /** Explains a live session; undefined where the client is not logged in with a token. */
  explainClient(client: Client, question?: Question): Explanation | undefined {
    const grant = this.#parts.grantOf(client)
    return grant === undefined ? undefined : explain(this.#subject(grant, client), question)
  }

  #subject(grant: CompiledGrant, client: Client | undefined): ExplainedGrant {
    const { authenticator, findUser, revocations } = this.#parts
    return {
      grant,
      sources: authenticator.sourcesOf(grant),
      ceilings: client === undefined ? authenticator.ceilingsOf(grant) : client.identity.ceilings,
      overlay:
        client === undefined ? new TokenOverlay(grant, revocations.channels) : client.overlay,
      revocation: revocations.refusing(grant),
      channelRevocation: (channel, kind) => revocations.channels.find(grant, channel, kind),
      isLive: client !== undefined,
      findUser,
      unboundSources: () => authenticator.unboundSourcesOf(grant),
    }
  }
}

/** The `iss` that a refused token has in it, for whoever looks for its issuer. */
function claimedIssuer(token: string): string | undefined {
  try {
    const [, payload] = decodeCompact(token)
    const iss = Object.hasOwn(payload, 'iss') ? payload['iss'] : undefined
    return typeof iss === 'string' ? iss.slice(0, 256) : undefined
  } catch {
    return undefined
  }
}
