import type { ComponentChildren } from 'preact'

/** Header of a view: title, commands that it sends, and actions. */
export function ViewHeader(props: {
  readonly title: string
  /** The commands that this view sends, as templates. */
  readonly commands: readonly string[]
  readonly children?: ComponentChildren
}) {
  return (
    <header class="view-header">
      <div>
        <h1 tabindex={-1}>{props.title}</h1>
        <p class="sends">
          <span class="quiet">Sends</span>{' '}
          {props.commands.map((command) => (
            <code key={command}>{command}</code>
          ))}
        </p>
      </div>
      <div class="actions">{props.children}</div>
    </header>
  )
}

/** The button that reloads a view. */
export function RefreshButton(props: { readonly loading: boolean; onClick(): void }) {
  return (
    <button type="button" data-refresh onClick={() => props.onClick()} aria-busy={props.loading}>
      Refresh
    </button>
  )
}
