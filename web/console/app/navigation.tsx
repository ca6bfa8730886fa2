import { useLayoutEffect, useRef } from 'preact/hooks'
import { linkTo } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'
import { VIEW_GROUPS } from './views.tsx'

/** The list of views: at the side, on a phone a row that scrolls. */
export function Navigation({ current }: { readonly current: string }) {
  const { tail } = useSession()
  const list = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    // On a phone the list is a row that scrolls.
    const link = list.current?.querySelector('[aria-current]')
    link?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [current])
  const isTailing = tail.view.value.status === 'live'
  return (
    <nav aria-label="Views" ref={list}>
      {VIEW_GROUPS.map(({ title, views }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul>
            {views.map((view) => (
              <li key={view.name}>
                <a
                  href={linkTo(view.name)}
                  aria-current={view.name === current ? 'page' : undefined}
                >
                  {view.title}
                  {view.name === 'tail' && isTailing && <span class="dot" title="listening" />}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  )
}
