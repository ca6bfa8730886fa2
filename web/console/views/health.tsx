import { Problem } from '../components/problem.tsx'
import { UpstreamCard } from '../components/upstream.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { showSeconds } from '../model/format.ts'
import { infoFields, parseInfo } from '../model/info.ts'
import type { InfoSection } from '../model/info.ts'
import { textOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { useSession } from '../model/session.ts'
import { readUpstream } from '../model/upstream.ts'
import { Facts } from '../components/dialog.tsx'

const REFRESH_MS = 5_000

/** Fields of INFO that are shown first. */
const HIGHLIGHTS = [
  ['respcast_version', 'Respcast'],
  ['redis_version', 'speaks as Redis'],
  ['uptime_in_seconds', 'up for'],
  ['used_memory_human', 'memory in use'],
  ['used_memory_rss_human', 'resident memory'],
  ['process_id', 'process'],
] as const

/** Sections that are open at first. */
const OPEN = new Set(['Stats', 'Errorstats'])

/** Readiness of the server, and all of INFO. */
export function HealthView() {
  const session = useSession()
  const readiness = useResource(loadReadiness, '', REFRESH_MS)
  const info = useResource(
    async (source) => parseInfo(textOf(await session.send(['INFO', 'everything'], source))),
    '',
    REFRESH_MS,
  )
  const fields = infoFields(info.value ?? [])
  const upstream = readUpstream(fields)
  const refresh = (): void => {
    readiness.refresh()
    info.refresh()
  }
  return (
    <>
      <ViewHeader title="Health" commands={['INFO everything', 'GET /readyz']}>
        <RefreshButton loading={info.loading} onClick={refresh} />
      </ViewHeader>
      <Problem error={info.error ?? readiness.error} />
      <section class="card" data-testid="readiness">
        {readiness.value && (
          <h2 class={readiness.value.ready ? 'good' : 'bad'}>
            {readiness.value.ready ? 'Ready' : 'Not ready'}
          </h2>
        )}
        <ul>
          {readiness.value?.problems.map((problem) => (
            <li key={problem} class="bad">
              {problem}
            </li>
          ))}
        </ul>
        <Facts
          facts={HIGHLIGHTS.filter(([name]) => fields.has(name)).map(([name, title]) => [
            title,
            highlight(name, fields.get(name) ?? ''),
          ])}
        />
      </section>
      {upstream && <UpstreamCard upstream={upstream} />}
      <div class="sections">
        {info.value?.map((section) => (
          <Section key={section.title} section={section} />
        ))}
      </div>
    </>
  )
}

function Section({ section }: { readonly section: InfoSection }) {
  if (section.fields.length === 0) return null
  return (
    <details class="card" open={OPEN.has(section.title)}>
      <summary>
        <h2>{section.title}</h2> <span class="quiet">{section.fields.length}</span>
      </summary>
      <Facts facts={section.fields} empty="–" />
    </details>
  )
}

function highlight(name: string, value: string): string {
  return name === 'uptime_in_seconds' ? showSeconds(Number(value)) : value
}

/** Answer of `/readyz`. */
interface Readiness {
  readonly ready: boolean
  /** Reasons why it is not ready, one sentence each. */
  readonly problems: readonly string[]
}

/**
 * Asks the admin listener whether the server is ready, as an orchestrator does.
 *
 * @throws {Error} If there is no readable answer.
 */
async function loadReadiness(): Promise<Readiness> {
  const response = await fetch('./readyz', { cache: 'no-store' })
  const body: unknown = await response.json()
  const problems =
    typeof body === 'object' && body !== null && 'problems' in body && Array.isArray(body.problems)
      ? body.problems.map(String)
      : []
  return { ready: response.ok, problems }
}
