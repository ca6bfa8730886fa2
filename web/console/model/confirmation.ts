import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Command } from './command.ts'

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
