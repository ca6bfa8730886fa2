import { Dialog } from './dialog.tsx'

/** All that is known of a row, also what has no room in the table. */
export function FactsDialog(props: {
  readonly title: string
  /** Those that are empty are left out. */
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <dl class="facts" data-testid="facts">
        {props.facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Dialog>
  )
}
