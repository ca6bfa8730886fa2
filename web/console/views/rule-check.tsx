import { useEffect, useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { checkableRules, userKind } from '../model/acl-rules.ts'
import { listOf, recordOf, textOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { useSession } from '../model/session-context.ts'

/** Typing is over when nothing was typed this long. Milliseconds. */
const PAUSE_MS = 350

/** Lets the server check rules while they are typed: whether it would take them, and what is odd about them. */
export function RuleCheck(props: { readonly name: string; readonly rules: readonly string[] }) {
  const session = useSession()
  const text = checkableRules(props.name, props.rules).join('\n')
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const check = useResource(async () => {
    if (settled === '') return { rules: '', warnings: [] }
    const reply = recordOf(
      await session.send(['RESPCAST', 'CHECK', ...settled.split('\n')], 'refresh'),
    )
    return {
      rules: textOf(reply.get('rules')),
      warnings: listOf(reply.get('warnings') ?? []).map((warning) => textOf(warning)),
    }
  }, settled)
  // What is odd about a role is usual for a user.
  const warnings = userKind(props.name) === 'role' ? (check.value?.warnings ?? []) : []
  if (check.error !== undefined) return <Problem error={check.error} />
  return (
    <div class="check-result" role="status" data-testid="rule-check">
      {check.value && (
        <p class="good">
          The server takes these rules.
          {check.value.rules !== '' && (
            <>
              {' '}
              <span class="quiet">Stored as</span> <code>{withoutHashes(check.value.rules)}</code>
            </>
          )}
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} class="warn">
          {warning}
        </p>
      ))}
    </div>
  )
}

function withoutHashes(rules: string): string {
  return rules.replaceAll(/#[0-9a-f]{64}/g, '#(hash)')
}
