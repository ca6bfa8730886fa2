import { RespcastError } from '../client/index.ts'
import type { Message, RespcastClient, Subscription, SubscriptionKind } from '../client/index.ts'
import { byId, make } from './dom.ts'
import type { Feed } from './feed.ts'

/** One line of the list. */
interface Row {
  readonly kind: SubscriptionKind
  readonly name: string
  readonly element: HTMLLIElement
  /** Undefined before the first client, and after one that ended without an answer. */
  subscription: Subscription | undefined
  wasReady: boolean
}

/** The list of subscriptions. They move to the next client when another token is used. */
export class SubscriptionList {
  readonly #list = byId('subscriptions', HTMLUListElement)
  readonly #none = byId('no-subscriptions', HTMLParagraphElement)
  readonly #rows = new Map<string, Row>()
  readonly #feed: Feed
  #client: RespcastClient | undefined

  constructor(feed: Feed) {
    this.#feed = feed
  }

  /** Subscribes every row with this client. */
  use(client: RespcastClient | undefined): void {
    this.#client = client
    for (const row of this.#rows.values()) this.#subscribe(row)
  }

  add(kind: SubscriptionKind, name: string): void {
    const key = `${kind} ${name}`
    if (this.#rows.has(key)) return
    const remove = make('button', { text: 'Unsubscribe', data: { testid: 'unsubscribe' } })
    remove.type = 'button'
    remove.setAttribute('aria-label', `Unsubscribe from ${kind} ${name}`)
    const element = make(
      'li',
      { data: { testid: 'subscription', kind, name, state: 'asked' } },
      make('span', { className: 'kind', text: kind, data: { kind } }),
      make('span', { className: 'name', text: name }),
      remove,
    )
    const row: Row = { kind, name, element, subscription: undefined, wasReady: false }
    remove.addEventListener('click', () => {
      void row.subscription?.unsubscribe()
      const neighbour = element.nextElementSibling ?? element.previousElementSibling
      this.#remove(row)
      // The focused button is removed; the focus moves to its neighbour.
      const next = neighbour?.querySelector('button') ?? byId('subscribe-name', HTMLInputElement)
      next.focus()
    })
    this.#rows.set(key, row)
    this.#list.append(element)
    this.#none.hidden = true
    this.#subscribe(row)
  }

  /** Without a connection no row is live. With one, rows that were live before are, unless they are denied right after. */
  connection(isOnline: boolean): void {
    for (const row of this.#rows.values()) {
      show(row, isOnline && row.wasReady ? 'live' : 'asked')
      if (isOnline && !row.subscription) this.#subscribe(row)
    }
  }

  /** A name that was live before is now refused. */
  denied(kind: SubscriptionKind, name: string): void {
    const row = this.#rows.get(`${kind} ${name}`)
    if (row) show(row, 'denied')
  }

  #subscribe(row: Row): void {
    row.subscription = undefined
    row.wasReady = false
    show(row, 'asked')
    const client = this.#client
    if (!client) return
    const handler = (message: Message): void => {
      show(row, 'live')
      this.#feed.addMessage(message)
    }
    const subscription = {
      channel: () => client.subscribe(row.name, handler),
      pattern: () => client.psubscribe(row.name, handler),
      shard: () => client.ssubscribe(row.name, handler),
    }[row.kind]()
    row.subscription = subscription
    void this.#follow(row, subscription)
  }

  async #follow(row: Row, subscription: Subscription): Promise<void> {
    try {
      await subscription.ready
      if (row.subscription !== subscription) return
      row.wasReady = true
      show(row, 'live')
    } catch (error) {
      if (row.subscription !== subscription) return
      row.subscription = undefined
      // A refused name is removed, and the feed says why. A client that ended leaves its rows for the next one.
      if (error instanceof RespcastError && error.prefix !== undefined) this.#remove(row)
    }
  }

  #remove(row: Row): void {
    this.#rows.delete(`${row.kind} ${row.name}`)
    row.element.remove()
    this.#none.hidden = this.#rows.size > 0
  }
}

function show(row: Row, state: 'asked' | 'live' | 'denied'): void {
  row.element.dataset['state'] = state
}
