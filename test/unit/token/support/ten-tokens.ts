import { explanationText } from '../../../../server/cli/token.ts'
import { ArgumentList } from '../../../../server/resp/request.ts'
import { TokenExplainer } from '../../../../server/token/explain/explain.ts'
import type { Question } from '../../../../server/token/explain/fix.ts'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import {
  CATALOG,
  compact,
  hmac,
  payload,
  revocationOrder,
  SECRET,
  testAuthenticator,
  testIssuer,
  userOf,
} from '../../../support/tokens.ts'

/** One token of the page: what it says, what is asked, and what `respcast token explain` answers. */
export interface ExplainedToken {
  readonly title: string
  readonly claims: string
  readonly command: string | undefined
  readonly answer: string
}

/** A command line as a question. */
export function question(line: string): Question {
  const words = line.split(' ')
  const name = (words[0] ?? '').toLowerCase()
  const entry = CATALOG.lookup(`${name}|${words[1]?.toLowerCase()}`) ?? CATALOG.lookup(name)
  if (entry === undefined) throw new Error(`there is no command ${line}`)
  return { entry, request: ArgumentList.of(...words) }
}

/** An explainer over the issuers, roles and ceilings that the page describes. */
export function pageExplainer(): {
  readonly explainer: TokenExplainer
  readonly revocations: RevocationTable
  readonly tested: ReturnType<typeof testAuthenticator>
} {
  const tested = testAuthenticator({
    issuers: [
      testIssuer({ iss: 'accounts' }),
      testIssuer({ alias: 'partner', iss: 'partner', roles: ['guest'], ceiling: 'partners' }),
    ],
  })
  tested.roles.set(
    'role:member',
    userOf(
      'role:member',
      '(resetchannels +subscribe +psubscribe +ssubscribe &news:* &user:{sub}:*) ' +
        '(resetchannels +publish +spublish &typing:{sub})',
    ),
  )
  tested.roles.set('partners', userOf('partners', 'on +@all &shop:* &news:*'))
  const revocations = new RevocationTable({ clock: tested.clock })
  const findUser = (name: string) => tested.roles.get(name)
  const explainer = new TokenExplainer({
    authenticator: tested.authenticator,
    findUser,
    grantOf: () => undefined,
    revocations,
  })
  return { explainer, revocations, tested }
}

/** A token of one of those issuers. */
export function pageToken(claims: Readonly<Record<string, unknown>>): string {
  return compact(
    { alg: 'HS256', typ: 'JWT' },
    payload({ iss: 'accounts', ...claims }),
    hmac(SECRET),
  )
}

const CASES: readonly (readonly [
  title: string,
  claims: Readonly<Record<string, unknown>>,
  command?: string,
])[] = [
  ['Its own list allows it', { respcast: { channels: ['room:7'] } }, 'PUBLISH room:7'],
  ['A role allows it', { respcast: { roles: ['member'] } }, 'SUBSCRIBE user:42:inbox'],
  ['A pattern must be a rule', { respcast: { roles: ['member'] } }, 'PSUBSCRIBE news:s*'],
  ['A role that does not exist', { respcast: { roles: ['editor'], subscribe: ['news:*'] } }],
  [
    'A role that its issuer may not name',
    { iss: 'partner', respcast: { roles: ['member'] } },
    'SUBSCRIBE news:sport',
  ],
  [
    'The token itself denies it',
    { respcast: { channels: ['room:*'], deny: ['room:7:mods'] } },
    'SUBSCRIBE room:7:mods',
  ],
  [
    'The ceiling of its issuer',
    { iss: 'partner', respcast: { channels: ['*'] } },
    'SUBSCRIBE room:7',
  ],
  [
    'Two alternatives do not add up in one command',
    { respcast: { roles: ['member'], subscribe: ['room:7'] } },
    'SUBSCRIBE news:sport room:7',
  ],
  ['It is meant for somebody else', { aud: 'another-server' }],
  ['It is revoked', { jti: 'token-1', respcast: { roles: ['member'] } }],
]

/** The ten tokens of docs/tokens.md, explained by the code that explains tokens. */
export async function tenTokens(): Promise<readonly ExplainedToken[]> {
  const explained: ExplainedToken[] = []
  for (const [title, claims, command] of CASES) {
    const { explainer, revocations } = pageExplainer()
    revocations.add(revocationOrder({ kind: 'jti', target: 'token-1' }), 'admin', 0)
    const asked = command === undefined ? undefined : question(command)
    const explanation = await explainer.explainToken(pageToken(claims), asked)
    explained.push({
      title,
      claims: JSON.stringify(claims),
      command,
      answer: shorten(explanationText(explanation)),
    })
  }
  return explained
}

/** Leaves out what every token has: it stands once in the text of the page. */
function shorten(answer: string): string {
  return answer.replace(/-@all \+auth .*? \+sunsubscribe/, '-@all ...')
}

/** The section of the page, as Markdown. */
export function tenTokensPage(tokens: readonly ExplainedToken[]): string {
  return tokens
    .map(({ title, claims, command, answer }, at) => {
      const asked = command === undefined ? '' : `, asked about \`${command}\``
      return `**${at + 1}. ${title}.** \`${claims}\`${asked}:\n\n\`\`\`text\n${answer}\`\`\`\n`
    })
    .join('\n')
}
