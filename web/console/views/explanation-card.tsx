import type { Explanation } from '../model/explanation.ts'

/** What TOKEN EXPLAIN says, in words. */
export function ExplanationCard({ explanation }: { readonly explanation: Explanation }) {
  const facts: readonly (readonly [name: string, value: string])[] = [
    ['User', explanation.user],
    ['Issuer', explanation.issuer],
    ['Roles', explanation.role],
    [explanation.allowed ? 'Rule' : 'What is wrong', explanation.rule],
    ['Source', explanation.source],
    ['Ceiling', explanation.ceiling],
    ['Revocation', explanation.revocation],
    ['What would help', explanation.fix],
  ]
  return (
    <section class="card" data-testid="explanation">
      <h2>
        <span class={explanation.allowed ? 'good' : 'bad'}>
          {explanation.allowed ? 'This token logs in' : 'This token is refused'}
        </span>
      </h2>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {explanation.allowed && <Alternatives explanation={explanation} />}
    </section>
  )
}

/** The ways in which a command may be allowed: any of them suffices. */
function Alternatives({ explanation }: { readonly explanation: Explanation }) {
  const { alternatives } = explanation
  return (
    <>
      <h3>What it may do</h3>
      <p class="quiet small">
        Each line is enough by itself. The first one holds what every token may, such as{' '}
        <code>ping</code>.
      </p>
      <ul class="alternatives">
        {alternatives.map(({ commands, channels }, at) => (
          <li key={at}>
            <span>
              {commands
                .filter((rule) => rule.startsWith('+'))
                .map((rule) => (
                  <code key={rule}>{rule.slice(1)}</code>
                ))}
            </span>
            <span class="on">
              {channels.length === 0 && <span class="quiet">no channel</span>}
              {channels.map((rule) => (
                <code key={rule} class="channel">
                  {rule}
                </code>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
