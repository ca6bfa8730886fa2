import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Command } from './commands.ts'

/** Message of something that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Message about something that was done. */
interface Notice {
  readonly text: string
  readonly failed: boolean
}

const SHOWN_MS = 8_000

/** The current notice; undefined once it was shown long enough. */
export const notice = signal<Notice | undefined>(undefined)

let timer: ReturnType<typeof setTimeout> | undefined

/** Announces the outcome of some work: its text, or its failure. */
export async function announceOutcome(work: () => Promise<string>): Promise<void> {
  try {
    announce(await work())
  } catch (error) {
    show({ text: messageOf(error), failed: true })
  }
}

/** Announces that something was done. */
export function announce(text: string): void {
  show({ text, failed: false })
}

/** Removes the notice. */
export function dismissNotice(): void {
  clearTimeout(timer)
  notice.value = undefined
}

function show(next: Notice): void {
  clearTimeout(timer)
  notice.value = next
  // A failure stays until it is dismissed.
  if (!next.failed) timer = setTimeout(dismissNotice, SHOWN_MS)
}

/** A question before an action that cannot be undone, or that affects others. */
interface Confirmation {
  readonly title: string
  readonly body?: ComponentChildren
  /** The commands that the action sends. */
  readonly commands: readonly Command[]
  /** The verb on the button. */
  readonly action: string
  readonly isDanger?: boolean
}

/** The pending question. */
export const confirmation = signal<Confirmation | undefined>(undefined)

let answer: ((confirmed: boolean) => void) | undefined

/** Asks for confirmation. A question that is still pending is answered with no. */
export function confirm(question: Confirmation): Promise<boolean> {
  answer?.(false)
  confirmation.value = question
  return new Promise((resolve) => {
    answer = resolve
  })
}

/** Answers the pending question. */
export function answerConfirmation(confirmed: boolean): void {
  const resolve = answer
  answer = undefined
  confirmation.value = undefined
  resolve?.(confirmed)
}
