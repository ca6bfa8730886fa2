import type { ComponentChildren } from 'preact'
import type { RuleChange } from '../model/acl-rules.ts'
import type { Affected } from '../model/affected.ts'
import { useIsOneOfSeveral } from './gateways.tsx'
import { plural } from '../model/format.ts'

/** Body of a question about a user: the affected connections, the consequence, and the changes. */
export function changeBody(
  affected: Affected | undefined,
  consequence: string,
  change?: RuleChange,
): ComponentChildren {
  return (
    <>
      {change && (
        <ul class="diff" aria-label="Changes">
          {change.removed.map((rule) => (
            <li key={`-${rule}`} data-change="removed">
              {shown(rule)}
            </li>
          ))}
          {change.added.map((rule) => (
            <li key={`+${rule}`} data-change="added">
              {shown(rule)}
            </li>
          ))}
        </ul>
      )}
      <AffectedList affected={affected} />
      {affected?.count !== 0 && <p class="quiet">{consequence}</p>}
    </>
  )
}

/** Number of affected live connections, and some of them. */
export function AffectedList({ affected }: { readonly affected: Affected | undefined }) {
  const isOneOfSeveral = useIsOneOfSeveral()
  if (!affected) return <p class="quiet">Who is connected cannot be found out.</p>
  return (
    <div data-testid="affected">
      <p>
        <b>{plural(affected.count, 'live connection')}</b> affected
        {isOneOfSeveral && ' at this gateway'}
        {affected.sample.length > 0 && affected.count > affected.sample.length
          ? `, among them ${affected.sample.length}:`
          : affected.count > 0 && ':'}
      </p>
      <ul class="sample">
        {affected.sample.map((row) => (
          <li key={row.id}>
            <b>{row.user}</b> <span class="quiet">{row.origin || row.address}</span>{' '}
            <span class="quiet small">id {row.id}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function shown(rule: string): string {
  return /^[><#!]./.test(rule) ? `${rule[0]}(password)` : rule
}
