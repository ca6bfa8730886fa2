import { useEffect, useState } from 'preact/hooks'
import { Field, TextField } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { ViewHeader } from '../components/view-header.tsx'
import { parseExplanation, tokenParts } from '../model/explanation.ts'
import type { Explanation } from '../model/explanation.ts'
import { route } from '../model/route.ts'
import { useSession } from '../model/session-context.ts'
import type { Command } from '../model/command.ts'
import { ChannelMatrix } from './channel-matrix.tsx'
import { ExplanationCard } from './explanation-card.tsx'
import { TokenPartsCard } from './token-parts-card.tsx'

/** Shows who a token is, what it may do, and why not. */
export function TokensView() {
  const session = useSession()
  const client = route.value.parameters.get('client') ?? ''
  const [token, setToken] = useState('')
  const [clientId, setClientId] = useState(client)
  const [subject, setSubject] = useState<Command>()
  const [explanation, setExplanation] = useState<Explanation>()
  const [error, setError] = useState<unknown>()

  const explain = async (command: Command): Promise<void> => {
    setError(undefined)
    setExplanation(undefined)
    setSubject(undefined)
    try {
      setExplanation(parseExplanation(await session.send(command)))
      setSubject(command)
    } catch (failure) {
      setError(failure)
    }
  }
  useEffect(() => {
    setClientId(client)
    if (client !== '') void explain(['TOKEN', 'EXPLAIN', 'CLIENT', client])
  }, [client])

  const trimmed = token.trim()
  const parts = tokenParts(trimmed)
  return (
    <>
      <ViewHeader
        title="Token inspector"
        commands={[
          'TOKEN EXPLAIN token',
          'TOKEN EXPLAIN CLIENT id',
          'TOKEN EXPLAIN ... command channel',
        ]}
      />
      <div class="columns">
        <form
          class="card stack"
          onSubmit={(event) => {
            event.preventDefault()
            void explain(['TOKEN', 'EXPLAIN', trimmed])
          }}
        >
          <Field label="Token" wide>
            <textarea
              rows={5}
              value={token}
              required
              spellcheck={false}
              autocomplete="off"
              autocapitalize="off"
              placeholder="Paste a JWT"
              data-testid="token"
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </Field>
          <div class="row">
            <button type="submit" class="primary">
              Explain the token
            </button>
            <span class="quiet small">It is sent to the server, and kept nowhere.</span>
          </div>
        </form>
        <form
          class="card stack"
          onSubmit={(event) => {
            event.preventDefault()
            void explain(['TOKEN', 'EXPLAIN', 'CLIENT', clientId.trim()])
          }}
        >
          <TextField
            label="Or the id of a connection that logged in with one"
            value={clientId}
            required
            placeholder="12"
            onInput={setClientId}
          />
          <div class="row">
            <button type="submit">Explain the connection</button>
          </div>
        </form>
      </div>
      <Problem error={error} />
      {explanation && subject && (
        <>
          <ExplanationCard explanation={explanation} />
          <ChannelMatrix subject={subject} />
        </>
      )}
      {parts && <TokenPartsCard parts={parts} />}
    </>
  )
}
