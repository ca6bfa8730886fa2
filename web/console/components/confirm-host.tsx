import { answerConfirmation, confirmation } from '../model/confirmation.ts'
import { CommandList } from './command-list.tsx'
import { Dialog } from './dialog.tsx'

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
