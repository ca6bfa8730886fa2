import { messageOf } from './message-of.ts'
import { signal } from '@preact/signals'

/** What the page says about something that was done. */
export interface Notice {
  readonly text: string
  readonly failed: boolean
}

const SHOWN_MS = 8_000

/** The last notice; undefined once it was shown long enough. */
export const notice = signal<Notice | undefined>(undefined)

let timer: ReturnType<typeof setTimeout> | undefined

/** Says what was done. */
export function announce(text: string): void {
  show({ text, failed: false })
}

/** Says what could not be done, and why. */
export function announceFailure(error: unknown): void {
  show({ text: messageOf(error), failed: true })
}

/** Takes the notice away. */
export function dismissNotice(): void {
  clearTimeout(timer)
  notice.value = undefined
}

function show(next: Notice): void {
  clearTimeout(timer)
  notice.value = next
  // What failed stays until it was read.
  if (!next.failed) timer = setTimeout(dismissNotice, SHOWN_MS)
}
