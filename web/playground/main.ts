import { connect, RespcastError } from '../client/index.ts'
import type { RespcastClient, SubscriptionKind } from '../client/index.ts'
import { byId } from './dom.ts'
import { Feed } from './feed.ts'
import { showSpan } from './format.ts'
import { showCause, StatusBar } from './status-bar.ts'
import { SubscriptionList } from './subscription-list.ts'

const feed = new Feed()
const status = new StatusBar()
const subscriptions = new SubscriptionList(feed)

const tokenPanel = byId('token-panel', HTMLDetailsElement)
const tokenField = byId('token', HTMLTextAreaElement)
const retryButton = byId('retry', HTMLButtonElement)
const disconnectButton = byId('disconnect', HTMLButtonElement)
let client: RespcastClient | undefined

byId('token-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  const token = tokenField.value.trim()
  tokenField.value = ''
  if (token !== '') logIn(token)
})

retryButton.addEventListener('click', () => client?.retry())
disconnectButton.addEventListener('click', () => client?.close())

byId('subscribe-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  const name = byId('subscribe-name', HTMLInputElement)
  const kind = byId('subscribe-kind', HTMLSelectElement)
  subscriptions.add(kind.value as SubscriptionKind, name.value)
  name.value = ''
  name.focus()
})

byId('publish-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  void publish()
})

window.addEventListener('hashchange', () => takeToken())
if (!takeToken()) tokenField.focus()

/** Removes a token from the address (`#token=...`), so that neither the history nor a copied address contains it. */
function takeToken(): boolean {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null || token === '') return false
  history.replaceState(null, '', location.pathname + location.search)
  logIn(token)
  return true
}

function logIn(token: string): void {
  client?.close()
  const next = connect(webSocketUrl(), { token })
  client = next
  let wasOnline = false
  next.on('state', (state) => {
    // A client that was replaced shows nothing more.
    if (client !== next) return
    showState(next)
    subscriptions.connection(state.status === 'online')
    const isLoss = state.status === 'denied' || (state.status === 'waiting' && wasOnline)
    if (isLoss) feed.addNotice('closed', `Connection ended: ${showCause(state.cause)}`)
    wasOnline = state.status === 'online'
  })
  next.on('accepted', (identity) => status.identify(identity))
  next.on('expiring', ({ leftMs }) => {
    feed.addNotice('token', `The token ends in ${showSpan(leftMs)}: paste a new one`)
  })
  next.on('expired', ({ graceMs }) => {
    feed.addNotice('token', `The token has ended; the connection closes in ${showSpan(graceMs)}`)
  })
  next.on('revoked', ({ channel, message }) => {
    const what = channel === undefined ? 'Permission revoked' : `Permission revoked: ${channel}`
    feed.addNotice('revoked', message === '' ? what : `${what} (${message})`)
  })
  next.on('denied', ({ kind, name, message }) => {
    subscriptions.denied(kind, name)
    feed.addNotice('denied', `Subscription to ${kind} ${name} denied: ${message}`)
  })
  next.on('gap', ({ spanMs }) => {
    feed.addNotice('gap', `Gap: messages of the last ${showSpan(spanMs)} may be missing`)
  })
  next.on('error', (error) => {
    feed.addNotice('error', error instanceof Error ? error.message : String(error))
  })
  subscriptions.use(next)
  subscriptions.add('channel', 'news')
  showState(next)
}

function showState({ state }: RespcastClient): void {
  status.show(state)
  const isOver = state.status === 'denied' || state.status === 'closed'
  tokenPanel.open = isOver
  retryButton.hidden = state.status !== 'waiting' && state.status !== 'denied'
  disconnectButton.hidden = isOver
}

/** Address of the WebSocket beside the page, also behind a proxy. */
function webSocketUrl(): string {
  const url = new URL('./ws', location.href)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

async function publish(): Promise<void> {
  const result = byId('publish-result', HTMLParagraphElement)
  const payload = byId('publish-payload', HTMLInputElement)
  const channel = byId('publish-channel', HTMLInputElement).value
  delete result.dataset['failed']
  result.textContent = ''
  try {
    if (!client) throw new RespcastError('ERR_NOT_ONLINE', 'Connect first')
    const receivers = await client.publish(channel, payload.value)
    result.textContent = `Published to ${receivers} ${receivers === 1 ? 'receiver' : 'receivers'}`
    payload.select()
  } catch (error) {
    result.dataset['failed'] = ''
    result.textContent = error instanceof Error ? error.message : String(error)
  }
}
