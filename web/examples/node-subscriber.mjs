// Prints what is published to some channels: `TOKEN=... node node-subscriber.mjs ws://localhost:8080/ws news room:7`
import { connect, SignedOutError } from 'respcast/client'
import { WebSocket } from 'ws'

const [url = 'ws://localhost:8080/ws', ...channels] = process.argv.slice(2)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
process.once('SIGTERM', () => stop.abort())

const client = connect(url, {
  // A service asks its own issuer here, and gets a fresh token whenever the last one ends.
  token: () => process.env.TOKEN ?? Promise.reject(new SignedOutError('Set TOKEN')),
  codec: 'text',
  signal: stop.signal,
  WebSocket,
})
client.on('state', ({ status, cause }) => console.error(status, cause?.name ?? ''))
client.on('gap', ({ spanMs }) => console.error(`messages of ${spanMs} ms may be missing`))

await Promise.all(
  channels.map(async (name) => {
    const subscription = client.subscribe(name)
    await subscription.ready
    console.error('subscribed', name)
    for await (const { channel, data } of subscription) console.log(`${channel} ${data}`)
  }),
)
