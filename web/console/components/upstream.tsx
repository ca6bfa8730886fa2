import { showBytes, showSeconds } from '../model/format.ts'
import { linkTo } from '../model/route.ts'
import type { Counts, Upstream } from '../model/upstream.ts'
import { Facts } from './dialog.tsx'

/** Says that the upstream is not ready, and why. Shows nothing while it is, and where there is none. */
export function UpstreamWarning({ upstream }: { readonly upstream: Upstream | undefined }) {
  if (!upstream || upstream.isReady) return null
  return (
    <div class="problem" role="alert" data-testid="upstream-warning">
      <strong>The upstream is not ready.</strong> Messages may not reach subscribers here.{' '}
      <a href={linkTo('health')}>Its links</a>
      <ul>
        {upstream.problems.map((problem) => (
          <li key={problem} class="bad">
            {problem}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The links to the upstream, and what came over them. Why it is not ready stands with the readiness of the server. */
export function UpstreamCard({ upstream }: { readonly upstream: Upstream }) {
  const { links, wanted, confirmed, gaps } = upstream
  return (
    <section class="card" data-testid="upstream">
      <h2 class={upstream.isReady ? '' : 'bad'}>Upstream</h2>
      {upstream.address !== '' && (
        <p class="upstream-address">
          <code>{upstream.address}</code>
        </p>
      )}
      <table class="links">
        <thead>
          <tr>
            <th scope="col">Link</th>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col">For</th>
          </tr>
        </thead>
        <tbody>
          {links.map(({ role, address, isUp, seconds }) => (
            <tr key={`${role} ${address}`}>
              <td>{role}</td>
              <td>{address}</td>
              <td class={isUp ? 'good' : 'bad'}>{isUp ? 'up' : 'down'}</td>
              <td>{showSeconds(seconds)}</td>
            </tr>
          ))}
          {links.length === 0 && (
            <tr>
              <td colSpan={4} class="quiet">
                There is no connection.
              </td>
            </tr>
          )}
        </tbody>
      </table>
      <Facts
        facts={[
          ['names confirmed', `${showCount(confirmed)} of ${showCount(wanted)}`],
          ['last beacon', showMilliseconds(upstream.beaconMs)],
          ['a publish takes', showMilliseconds(upstream.publishMs)],
          ['on the way', showBytes(upstream.inFlightBytes)],
          ['came for nobody', showBytes(upstream.unwantedBytes)],
          ['reconnects', showCounts(upstream.reconnects)],
          ['gaps', showCounts(gaps)],
          ['gaps, all together', gaps.total === 0 ? '–' : showSeconds(upstream.gapSeconds)],
        ]}
      />
    </section>
  )
}

function showCount(count: number): string {
  return count.toLocaleString('en')
}

function showMilliseconds(ms: number | undefined): string {
  return ms === undefined ? '–' : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`
}

/** `3: closed 2, silent 1`. */
function showCounts({ total, causes }: Counts): string {
  const parts = causes.map(([cause, count]) => `${cause} ${showCount(count)}`)
  return parts.length === 0 ? showCount(total) : `${showCount(total)}: ${parts.join(', ')}`
}
