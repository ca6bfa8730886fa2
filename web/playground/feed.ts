import type { Message } from '../client/index.ts'
import { byId, make } from './dom.ts'
import { showPayload, showSize, showTime } from './format.ts'
import type { PayloadFormat } from './format.ts'

/** Number of entries that are kept and shown. */
const MAX_ENTRIES = 200

/** Topic of a notice. */
type NoticeKind = 'denied' | 'gap' | 'revoked' | 'closed' | 'token' | 'error'

type Entry =
  | { readonly at: Date; readonly message: Message }
  | { readonly at: Date; readonly notice: NoticeKind; readonly text: string }

/**
 * The live feed: newest first, bounded, drawn at most once per frame.
 *
 * While it is paused entries are kept but not drawn; notices are read out in any case.
 */
export class Feed {
  readonly #list = byId('feed', HTMLOListElement)
  readonly #empty = byId('feed-empty', HTMLParagraphElement)
  readonly #count = byId('feed-count', HTMLSpanElement)
  readonly #pause = byId('pause', HTMLButtonElement)
  readonly #format = byId('feed-format', HTMLSelectElement)
  readonly #announcer = byId('announcer', HTMLParagraphElement)
  /** Newest last. */
  #entries: Entry[] = []
  /** Entries at the end of the list that are not drawn. */
  #undrawn = 0
  #messages = 0
  #paused = false
  #isScheduled = false

  constructor() {
    this.#pause.addEventListener('click', () => this.#togglePause())
    byId('clear', HTMLButtonElement).addEventListener('click', () => this.#clear())
    this.#format.addEventListener('change', () => this.#redraw())
  }

  addMessage(message: Message): void {
    this.#messages++
    this.#add({ at: new Date(), message })
  }

  addNotice(notice: NoticeKind, text: string): void {
    this.#announcer.textContent = text
    this.#add({ at: new Date(), notice, text })
  }

  #add(entry: Entry): void {
    this.#entries.push(entry)
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
    this.#undrawn = Math.min(this.#undrawn + 1, MAX_ENTRIES)
    if (this.#isScheduled) return
    this.#isScheduled = true
    requestAnimationFrame(() => this.#draw())
  }

  #draw(): void {
    this.#isScheduled = false
    this.#count.textContent = String(this.#messages)
    this.#pause.textContent = this.#paused ? `Resume (${this.#undrawn} new)` : 'Pause'
    if (this.#paused) return

    const format = this.#format.value as PayloadFormat
    for (const entry of this.#undrawn > 0 ? this.#entries.slice(-this.#undrawn) : []) {
      this.#list.prepend(draw(entry, format))
    }
    this.#undrawn = 0
    while (this.#list.childElementCount > MAX_ENTRIES) this.#list.lastElementChild?.remove()
    this.#empty.hidden = this.#entries.length > 0
  }

  #redraw(): void {
    const shown = this.#entries.length - this.#undrawn
    const format = this.#format.value as PayloadFormat
    const drawn = this.#entries.slice(0, shown).map((entry) => draw(entry, format))
    this.#list.replaceChildren(...drawn.toReversed())
  }

  #togglePause(): void {
    this.#paused = !this.#paused
    this.#pause.setAttribute('aria-pressed', String(this.#paused))
    this.#draw()
  }

  #clear(): void {
    this.#entries = []
    this.#undrawn = 0
    this.#messages = 0
    this.#list.replaceChildren()
    this.#draw()
  }
}

function draw(entry: Entry, format: PayloadFormat): HTMLLIElement {
  const time = make('time', { text: showTime(entry.at) })
  time.dateTime = entry.at.toISOString()
  if ('notice' in entry) {
    const data = { testid: 'notice', notice: entry.notice }
    return make('li', { className: 'notice', data }, time, make('p', { text: entry.text }))
  }
  const { message } = entry
  const origin = make(
    'div',
    { className: 'origin' },
    make('span', { className: 'kind', text: message.kind, data: { kind: message.kind } }),
    make('span', { className: 'channel', text: message.channel }),
  )
  if (message.pattern !== undefined) {
    origin.append(make('span', { className: 'pattern', text: `by ${message.pattern}` }))
  }
  origin.append(make('span', { className: 'size', text: showSize(message.payload.length) }))
  const payload = make('pre', { className: 'payload', text: showPayload(message.payload, format) })
  return make('li', { data: { testid: 'message' } }, time, origin, payload)
}
