import { useEffect, useState } from 'preact/hooks'
import { Field, Form, TextField } from '../components/fields.tsx'
import { Problem } from '../components/problem.tsx'
import { ViewHeader } from '../components/view-header.tsx'
import type { Command } from '../model/commands.ts'
import { parseExplanation, tokenParts } from '../model/explanation.ts'
import type { Explanation, TokenParts } from '../model/explanation.ts'
import { showDate } from '../model/format.ts'
import { route } from '../model/route.ts'
import { useSession } from '../model/session.ts'
import { Facts } from '../components/dialog.tsx'
import type { FactList } from '../components/dialog.tsx'
import { useAction } from '../model/resource.ts'

/** Explains a token or a live session: its user, its permissions, and the reasons of refusals. */
export function TokensView() {
  const session = useSession()
  const client = route.value.parameters.get('client') ?? ''
  const [token, setToken] = useState('')
  const [clientId, setClientId] = useState(client)
  const [subject, setSubject] = useState<Command>()
  const [explanation, setExplanation] = useState<Explanation>()
  const { error, run } = useAction()

  const explain = async (command: Command): Promise<void> => {
    setExplanation(undefined)
    setSubject(undefined)
    await run(async () => {
      setExplanation(parseExplanation(await session.send(command)))
      setSubject(command)
    })
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
        <Form class="card stack" onSubmit={() => void explain(['TOKEN', 'EXPLAIN', trimmed])}>
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
        </Form>
        <Form
          class="card stack"
          onSubmit={() => void explain(['TOKEN', 'EXPLAIN', 'CLIENT', clientId.trim()])}
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
        </Form>
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

/** Card of the answer of TOKEN EXPLAIN. */
function ExplanationCard({ explanation }: { readonly explanation: Explanation }) {
  const facts: FactList = [
    ['User', explanation.user],
    ['Issuer', explanation.issuer],
    ['Key id', explanation.kid],
    ['Key', explanation.key],
    ['Roles', explanation.role],
    [explanation.allowed ? 'Rule' : 'What is wrong', explanation.rule],
    ['Source', explanation.source],
    ['Ceiling', explanation.ceiling],
    ['Revocation', explanation.revocation],
    ['What would help', explanation.fix],
  ]
  return (
    <section class="card" data-testid="explanation">
      <h2>
        <span class={explanation.allowed ? 'good' : 'bad'}>
          {explanation.allowed ? 'This token logs in' : 'This token is refused'}
        </span>
      </h2>
      <Facts facts={facts} />
      {explanation.allowed && <Alternatives explanation={explanation} />}
    </section>
  )
}

/** The alternatives that allow a command: any of them suffices. */
function Alternatives({ explanation }: { readonly explanation: Explanation }) {
  const { alternatives } = explanation
  return (
    <>
      <h3>What it may do</h3>
      <p class="quiet small">
        Each line is enough by itself. The first one holds what every token may, such as{' '}
        <code>ping</code>.
      </p>
      <ul class="alternatives">
        {alternatives.map(({ commands, channels }, at) => (
          <li key={at}>
            <span>
              {commands
                .filter((rule) => rule.startsWith('+'))
                .map((rule) => (
                  <code key={rule}>{rule.slice(1)}</code>
                ))}
            </span>
            <span class="on">
              {channels.length === 0 && <span class="quiet">no channel</span>}
              {channels.map((rule) => (
                <code key={rule} class="channel">
                  {rule}
                </code>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Commands on channels. */
const COMMANDS = ['subscribe', 'psubscribe', 'ssubscribe', 'publish', 'spublish'] as const

/** Asks what a token may do with a channel. */
function ChannelMatrix({ subject }: { readonly subject: Command }) {
  const session = useSession()
  const [channel, setChannel] = useState('')
  const [answers, setAnswers] = useState<readonly Explanation[]>([])
  const { error, run } = useAction()
  const ask = async (): Promise<void> => {
    const questions = COMMANDS.map((command): Command => [
      ...subject,
      command,
      channel,
      ...(command.endsWith('publish') ? ['payload'] : []),
    ])
    const answered = await run(async () => {
      const replies = await Promise.all(questions.map((question) => session.send(question)))
      setAnswers(replies.map((reply) => parseExplanation(reply)))
    })
    if (!answered) setAnswers([])
  }
  return (
    <section class="card">
      <h2>What may it do with a channel?</h2>
      <Form class="fields" onSubmit={() => void ask()}>
        <TextField
          label="Channel or pattern"
          value={channel}
          required
          wide
          placeholder="news:sport"
          onInput={setChannel}
        />
        <button type="submit">Ask</button>
      </Form>
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

/** Claims that are seconds since 1970 (RFC 7519 section 4.1). */
const TIMES = ['exp', 'nbf', 'iat'] as const

/** Contents of a token as read by this page, not verified. */
function TokenPartsCard({ parts }: { readonly parts: TokenParts }) {
  return (
    <section class="card">
      <h2>
        What stands in it <span class="quiet">read by this page, not verified</span>
      </h2>
      <Facts
        facts={TIMES.map((name) => {
          const seconds = parts.claims[name]
          return [name, typeof seconds === 'number' ? showDate(seconds * 1000) : '']
        })}
      />
      <div class="columns">
        <pre tabindex={0} aria-label="Header">
          {JSON.stringify(parts.header, undefined, 2)}
        </pre>
        <pre tabindex={0} aria-label="Claims">
          {JSON.stringify(parts.claims, undefined, 2)}
        </pre>
      </div>
    </section>
  )
}
