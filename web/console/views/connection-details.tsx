import { Dialog } from '../components/dialog.tsx'
import { Problem } from '../components/problem.tsx'
import { clientFields, parseClient } from '../model/client-list.ts'
import type { ConnectionRow } from '../model/client-list.ts'
import { labelOf, pairsOf, recordOf, textOf, bytesOf } from '../model/reply.ts'
import { useResource } from '../model/resource.ts'
import { linkTo } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'
import type { Session } from '../model/session.ts'

/** What the server calls the three kinds, and people. */
const SPACES = [
  ['channels', 'Channels'],
  ['patterns', 'Patterns'],
  ['shardchannels', 'Shard channels'],
] as const

interface Held {
  readonly title: string
  /** Each name with the user who subscribed to it. */
  readonly names: readonly (readonly [name: string, user: string])[]
}

/** One connection: all that CLIENT LIST says, and what it is subscribed to. */
export function ConnectionDetails(props: {
  readonly id: string
  /** It is the console's own. */
  readonly isOwn: boolean
  readonly onKill: (row: ConnectionRow) => void
  readonly onClose: () => void
}) {
  const session = useSession()
  const { id } = props
  const line = useResource(
    async () => textOf(await session.send(['CLIENT', 'LIST', 'ID', id])).trim(),
    id,
  )
  const held = useResource(() => subscriptionsOf(session, id), id)
  const row = line.value ? parseClient(line.value) : undefined
  return (
    <Dialog title={`Connection ${id}`} wide onClose={props.onClose}>
      <Problem error={line.error} />
      {line.value === '' && <p>It is gone.</p>}
      {row && (
        <>
          <p class="row">
            <b>{row.user}</b> <span class="quiet">{row.origin || row.address}</span>
            {row.tokenSubject !== '' && (
              <a href={linkTo('tokens', { client: id })}>What may it do?</a>
            )}
          </p>
          <h3>Subscriptions</h3>
          <Problem error={held.error} />
          {held.value?.map(({ title, names }) => (
            <HeldNames key={title} title={title} names={names} />
          ))}
          {held.value?.every(({ names }) => names.length === 0) && <p class="quiet">None.</p>}
          <h3>CLIENT LIST</h3>
          <dl class="facts" data-testid="client-fields">
            {[...clientFields(row.line)].map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value === '' ? '–' : value}</dd>
              </div>
            ))}
          </dl>
          <footer class="dialog-footer">
            {props.isOwn && <span class="quiet">This is the console itself.</span>}
            <button
              type="button"
              class="danger"
              disabled={props.isOwn}
              onClick={() => props.onKill(row)}
            >
              Kill
            </button>
          </footer>
        </>
      )}
    </Dialog>
  )
}

function HeldNames({ title, names }: Held) {
  if (names.length === 0) return null
  return (
    <section class="held">
      <h4>
        {title} <span class="quiet">{names.length}</span>
      </h4>
      <ul>
        {names.map(([name, user]) => (
          <li key={name}>
            <code>{name}</code> <span class="quiet small">{user}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

async function subscriptionsOf(session: Session, id: string): Promise<readonly Held[]> {
  const reply = recordOf(await session.send(['RESPCAST', 'SUBSCRIPTIONS', id]))
  return SPACES.map(([key, title]) => ({
    title,
    names: pairsOf(reply.get(key) ?? []).map(
      ([name, user]) => [labelOf(bytesOf(name)), textOf(user)] as const,
    ),
  }))
}
