import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Command } from './commands.ts'

/** What something that was thrown says, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

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

/** A question before something that cannot be taken back, or that reaches others. */
export interface Confirmation {
  readonly title: string
  readonly body?: ComponentChildren
  /** What will be sent. */
  readonly commands: readonly Command[]
  /** The verb on the button. */
  readonly action: string
  readonly isDanger?: boolean
}

/** The question that waits for its answer. */
export const confirmation = signal<Confirmation | undefined>(undefined)

let answer: ((confirmed: boolean) => void) | undefined

/** Asks; a question that still waits is answered with no. */
export function confirm(question: Confirmation): Promise<boolean> {
  answer?.(false)
  confirmation.value = question
  return new Promise((resolve) => {
    answer = resolve
  })
}

/** Answers the question. */
export function answerConfirmation(confirmed: boolean): void {
  const resolve = answer
  answer = undefined
  confirmation.value = undefined
  resolve?.(confirmed)
}
