import type { Core } from '../core.ts'
import { ArgumentList } from '../resp/request.ts'
import { EXPLANATION_FIELDS, type Explanation } from '../token/explain/explain.ts'
import type { Question } from '../token/explain/fix.ts'
import { fromByteString, toByteString } from '../token/text.ts'

/**
 * Reads a command line that is to be explained.
 *
 * @returns What to ask, or a sentence that says what is wrong.
 */
export function questionOf(core: Core, words: readonly string[]): Question | string {
  const request = ArgumentList.of(...words.map(toByteString))
  const command = core.table.find(request)
  if (command === undefined) return `there is no command '${words[0] ?? ''}'`
  const { channels, name } = command.acl
  if (channels !== undefined && channels.kind !== 'none' && request.count <= channels.first) {
    return `${name} needs a channel`
  }
  return { entry: command.acl, request }
}

/** An explanation for people: one line for each field that applies. */
export function explanationText(explanation: Explanation): string {
  const lines = [['allowed', explanation.allowed ? 'yes' : 'no']]
  for (const field of EXPLANATION_FIELDS) {
    const value = explanation[field]
    if (value !== undefined) lines.push([field, fromByteString(value)])
  }
  return lines.map(([name = '', value = '']) => `${name.padEnd(10)} ${value}\n`).join('')
}
