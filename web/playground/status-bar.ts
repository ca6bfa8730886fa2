import type { Cause, ConnectionState, Identity } from '../client/index.ts'
import { byId } from './dom.ts'
import { showSpan } from './format.ts'

const NAMES: Record<ConnectionState['status'], string> = {
  connecting: 'Connecting',
  authenticating: 'Logging in',
  online: 'Online',
  waiting: 'Waiting',
  offline: 'Offline',
  denied: 'Denied',
  closed: 'Disconnected',
}

/** Connection state with its reason, the user, and the remaining time of the token. */
export class StatusBar {
  readonly #status = byId('status', HTMLParagraphElement)
  readonly #name = byId('status-name', HTMLSpanElement)
  readonly #reason = byId('status-reason', HTMLSpanElement)
  readonly #identity = byId('identity', HTMLDListElement)
  readonly #user = byId('user', HTMLElement)
  readonly #timeLeft = byId('time-left', HTMLElement)
  #expiresAtMs: number | undefined

  constructor() {
    setInterval(() => this.#tick(), 1000)
  }

  show(state: ConnectionState): void {
    this.#status.dataset['status'] = state.status
    this.#name.textContent = NAMES[state.status]
    this.#reason.textContent = reasonOf(state)
    if (state.status === 'denied' || state.status === 'closed') this.identify(undefined)
  }

  identify(identity: Identity | undefined): void {
    this.#expiresAtMs = identity?.expiresAtMs
    this.#identity.hidden = identity === undefined
    this.#user.textContent = identity?.user ?? ''
    this.#tick()
  }

  #tick(): void {
    if (this.#expiresAtMs === undefined) return
    const leftMs = this.#expiresAtMs - Date.now()
    this.#timeLeft.textContent = leftMs > 0 ? `${showSpan(leftMs)} left` : 'expired'
  }
}

function reasonOf(state: ConnectionState): string {
  if (state.status === 'denied') return showCause(state.cause)
  if (state.status !== 'waiting' && state.status !== 'offline') return ''
  return `${showCause(state.cause)}; next attempt in ${showSpan(state.retryInMs)}`
}

/** A cause for people: `permissions-changed (4403): text`. */
export function showCause(cause: Cause): string {
  const code = cause.code === undefined ? '' : ` (${cause.code})`
  const text = cause.text === '' ? '' : `: ${cause.text}`
  return `${cause.name}${code}${text}`
}
