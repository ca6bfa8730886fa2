import { useState } from 'preact/hooks'
import { Field, TextField } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { splitWords } from '../model/words.ts'
import { textOf } from '../model/reply.ts'
import { useSession } from '../model/session-context.ts'

/** Asks whether a stored user may run a command, without running it. */
export function DryRunBox({ names }: { readonly names: readonly string[] }) {
  const session = useSession()
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [answer, setAnswer] = useState('')
  const [error, setError] = useState<unknown>()
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault()
    setAnswer('')
    setError(undefined)
    try {
      setAnswer(textOf(await session.send(['ACL', 'DRYRUN', name, ...splitWords(text)])))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <section class="card">
      <h2>May a user run a command?</h2>
      <form class="fields" onSubmit={(event) => void ask(event)}>
        <Field label="User">
          <input
            list="user-names"
            value={name}
            required
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <datalist id="user-names">
            {names.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </Field>
        <TextField
          label="Command"
          wide
          required
          placeholder="subscribe news"
          value={text}
          onInput={setText}
        />
        <button type="submit">Dry run</button>
      </form>
      <p role="status" data-testid="dry-run">
        {answer !== '' && <span class={answer === 'OK' ? 'good' : 'bad'}>{answer}</span>}
      </p>
      <Problem error={error} />
    </section>
  )
}
