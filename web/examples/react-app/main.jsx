import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { connect } from 'respcast/client'
import { RespcastProvider, useChannel, useConnection, useRespcast } from 'respcast/react'

const url = new URL(import.meta.env.VITE_RESPCAST_URL ?? '/ws', location.href)
url.protocol = url.protocol.replace('http', 'ws')

const client = connect(url.href, {
  token: async ({ signal }) => {
    const response = await fetch('/token', { method: 'POST', signal })
    if (!response.ok) throw new Error(`no token: ${response.status}`)
    return response.text()
  },
  codec: 'json',
})

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <RespcastProvider client={client}>
      <Connection />
      <Room name="room:7" />
    </RespcastProvider>
  </StrictMode>,
)

function Connection() {
  const { status, cause } = useConnection()
  return <p role="status">{cause ? `${status}: ${cause.name}` : status}</p>
}

function Room({ name }) {
  const { status, value, gap } = useChannel(name, {
    initial: [],
    reduce: (lines, { data }) => [...lines, data.text].slice(-50),
  })
  return (
    <section aria-label={name}>
      {status === 'denied' && <p role="alert">You may not read this room.</p>}
      {gap && <p role="alert">Messages of the last {gap.spanMs} ms may be missing.</p>}
      <ol>
        {value.map((text, at) => (
          <li key={at}>{text}</li>
        ))}
      </ol>
      <Composer name={name} />
    </section>
  )
}

function Composer({ name }) {
  const respcast = useRespcast()
  const [text, setText] = useState('')
  const [error, setError] = useState('')

  async function send(event) {
    event.preventDefault()
    try {
      await respcast.publish(name, { text })
      setText('')
      setError('')
    } catch (failure) {
      setError(failure.message)
    }
  }

  return (
    <form onSubmit={(event) => void send(event)}>
      <label>
        Message <input value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button>Send</button>
      {error && <p role="alert">{error}</p>}
    </form>
  )
}
