import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { answerConfirmation, confirmation } from '../model/messages.ts'
import { CommandList } from './commands.tsx'

/** Modal dialog, open while it is rendered. The browser traps the focus, and Escape closes it. */
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
    // The focus may be on a button at the end, but reading starts at the top.
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
        // A click on the element itself is a click on the backdrop.
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

/** Names and values in two columns. */
export type FactList = readonly (readonly [name: string, value: string])[]

/** A list of names and values. Facts with an empty value are left out, unless a text stands for the empty value. */
export function Facts(props: {
  readonly facts: FactList
  readonly empty?: string
  readonly testId?: string
}) {
  const { facts, empty = '', testId } = props
  return (
    <dl class="facts" data-testid={testId}>
      {facts.map(([name, value]) => {
        const shown = value === '' ? empty : value
        return (
          shown !== '' && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{shown}</dd>
            </div>
          )
        )
      })}
    </dl>
  )
}

/** All details of a table row, including those that have no column. */
export function FactsDialog(props: {
  readonly title: string
  readonly facts: FactList
  readonly onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <Facts facts={props.facts} testId="facts" />
    </Dialog>
  )
}

/** Dialog of the pending question. */
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
