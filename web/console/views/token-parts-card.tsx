import { showDate } from '../model/format.ts'
import type { TokenParts } from '../model/explanation.ts'

/** Claims that are seconds since 1970 (RFC 7519 section 4.1). */
const TIMES = ['exp', 'nbf', 'iat'] as const

/** What stands in a token, as this page reads it: nothing is verified here. */
export function TokenPartsCard({ parts }: { readonly parts: TokenParts }) {
  return (
    <section class="card">
      <h2>
        What stands in it <span class="quiet">read by this page, not verified</span>
      </h2>
      <dl class="facts">
        {TIMES.map((name) => {
          const seconds = parts.claims[name]
          return (
            typeof seconds === 'number' && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{showDate(seconds * 1000)}</dd>
              </div>
            )
          )
        })}
      </dl>
      <div class="columns">
        <pre tabindex={0} aria-label="Header">
          {JSON.stringify(parts.header, undefined, 2)}
        </pre>
        <pre tabindex={0} aria-label="Claims">
          {JSON.stringify(parts.claims, undefined, 2)}
        </pre>
      </div>
    </section>
  )
}
