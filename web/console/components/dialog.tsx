import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

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
