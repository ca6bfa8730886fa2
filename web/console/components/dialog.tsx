import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { answerConfirmation, confirmation } from '../model/messages.ts'
import { CommandList } from './commands.tsx'

/** A modal dialog: it is open while it is rendered. The browser keeps the focus within, and Escape closes it. */
export function Dialog(props: {
  readonly title: string
  readonly wide?: boolean
  readonly children: ComponentChildren
  readonly onClose: () => void
}) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = element.current
    if (!dialog) return
    dialog.showModal()
    // The focus may have gone to a button at the end, but reading begins at the head.
    dialog.scrollTop = 0
  }, [])
  return (
    <dialog
      ref={element}
      class={props.wide ? 'wide' : ''}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault()
        props.onClose()
      }}
      onClick={(event) => {
        // A click on the element itself is one beside its content: on the backdrop.
        if (event.target === element.current) props.onClose()
      }}
    >
      <div class="dialog-body">
        <header class="dialog-header">
          <h2>{props.title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={() => props.onClose()}>
            ✕
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  )
}

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

/** Shows the question that waits for its answer. */
export function ConfirmHost() {
  const question = confirmation.value
  if (!question) return null
  return (
    <Dialog title={question.title} onClose={() => answerConfirmation(false)}>
      {question.body}
      <p class="quiet">This will be sent:</p>
      <CommandList commands={question.commands} />
      <footer class="dialog-footer">
        <button type="button" autofocus onClick={() => answerConfirmation(false)}>
          Cancel
        </button>
        <button
          type="button"
          class={question.isDanger ? 'danger' : 'primary'}
          data-testid="confirm"
          onClick={() => answerConfirmation(true)}
        >
          {question.action}
        </button>
      </footer>
    </Dialog>
  )
}
