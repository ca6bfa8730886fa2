import { useState } from 'preact/hooks'
import { TextField } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { parseExplanation } from '../model/explanation.ts'
import type { Explanation } from '../model/explanation.ts'
import { useSession } from '../model/session-context.ts'
import type { Command } from '../model/command.ts'

/** The commands that have to do with channels. */
const COMMANDS = ['subscribe', 'psubscribe', 'ssubscribe', 'publish', 'spublish'] as const

/** Asks of a channel what a token may do with it, and why not. */
export function ChannelMatrix({ subject }: { readonly subject: Command }) {
  const session = useSession()
  const [channel, setChannel] = useState('')
  const [answers, setAnswers] = useState<readonly Explanation[]>([])
  const [error, setError] = useState<unknown>()
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    try {
      const questions = COMMANDS.map((command): Command => [
        ...subject,
        command,
        channel,
        ...(command.endsWith('publish') ? ['payload'] : []),
      ])
      const replies = await Promise.all(questions.map((question) => session.send(question)))
      setAnswers(replies.map((reply) => parseExplanation(reply)))
    } catch (failure) {
      setAnswers([])
      setError(failure)
    }
  }
  return (
    <section class="card">
      <h2>What may it do with a channel?</h2>
      <form class="fields" onSubmit={(event) => void ask(event)}>
        <TextField
          label="Channel or pattern"
          value={channel}
          required
          wide
          placeholder="news:sport"
          onInput={setChannel}
        />
        <button type="submit">Ask</button>
      </form>
      <Problem error={error} />
      {answers.length > 0 && (
        <ul class="verdicts" data-testid="verdicts">
          {COMMANDS.map((command, at) => {
            const answer = answers[at]
            return (
              answer && (
                <li key={command} data-command={command} data-allowed={answer.allowed}>
                  <code>{command}</code>
                  <b class={answer.allowed ? 'good' : 'bad'}>
                    {answer.allowed ? 'allowed' : 'refused'}
                  </b>
                  <span>{reasonOf(answer)}</span>
                </li>
              )
            )
          })}
        </ul>
      )}
    </section>
  )
}

function reasonOf(answer: Explanation): string {
  const parts: string[] = []
  if (answer.rule !== '') parts.push(`by ${answer.rule}`)
  if (answer.role !== '') parts.push(`of role ${answer.role}`)
  else if (answer.source !== '') parts.push(`(${answer.source})`)
  if (!answer.allowed && answer.ceiling !== '') parts.push(`ceiling ${answer.ceiling}`)
  if (answer.revocation !== '') parts.push(`revocation ${answer.revocation}`)
  if (answer.fix !== '') parts.push(`would help: ${answer.fix}`)
  return parts.join(' ')
}
