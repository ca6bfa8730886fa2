import { authorize } from '../../server/acl/authorize.ts'
import { ArgumentList } from '../../server/resp/request.ts'
import type { CompiledGrant } from '../../server/token/grant/grants.ts'
import { CATALOG } from './tokens.ts'

/*
 * A second, naive implementation of what patterns mean: they stay lists of steps in which a value is literal by construction,
 * so that there is nothing to escape; nothing is shared and nothing is cached.
 */

/** One step of a pattern: any bytes, or one byte out of a set. */
export type Step = 'star' | ((byte: string) => boolean)

/** The steps of a glob. */
export function steps(text: string): Step[] {
  const made: Step[] = []
  let rest = text
  while (rest !== '') {
    const [first = ''] = rest
    rest = rest.slice(1)
    if (first === '*') made.push('star')
    else if (first === '?') made.push(() => true)
    else if (first === '\\' && rest !== '') {
      made.push(literal(rest.charAt(0)))
      rest = rest.slice(1)
    } else if (first === '[') {
      const [step, behind] = classStep(rest)
      made.push(step)
      rest = behind
    } else made.push(literal(first))
  }
  return made
}

/** The step that takes one byte. */
export const literal =
  (wanted: string): Step =>
  (byte) =>
    byte === wanted

function classStep(text: string): [Step, string] {
  const negated = text.startsWith('^')
  let rest = negated ? text.slice(1) : text
  const members: ((byte: string) => boolean)[] = []
  while (rest !== '' && !rest.startsWith(']')) {
    const [one = '', dash, other = ''] = rest
    if (one === '\\' && rest.length > 1) {
      members.push((byte) => byte === (dash ?? ''))
      rest = rest.slice(2)
    } else if (dash === '-' && rest.length > 2) {
      const [low = '', high = ''] = [one, other].sort()
      members.push((byte) => byte >= low && byte <= high)
      rest = rest.slice(3)
    } else {
      members.push((byte) => byte === one)
      rest = rest.slice(1)
    }
  }
  return [(byte) => members.some((member) => member(byte)) !== negated, rest.slice(1)]
}

/** Reports whether a pattern matches a channel. */
export function reaches(pattern: readonly Step[], channel: string): boolean {
  // Redis never enters its loop for an empty name, so that only the empty pattern is left for it.
  if (channel === '') return pattern.length === 0
  const walk = (step: number, at: number): boolean => {
    if (step === pattern.length) return at === channel.length
    const one = pattern[step]
    if (one === 'star') {
      for (let to = at; to <= channel.length; to++) if (walk(step + 1, to)) return true
      return false
    }
    return (
      at < channel.length && one !== undefined && one(channel.charAt(at)) && walk(step + 1, at + 1)
    )
  }
  return walk(0, 0)
}

/** Every name of up to three bytes out of a few telling ones. */
export const NAMES = ((): string[] => {
  const bytes = ['a', 'b', ':', '*', '[', '\\']
  let longest = ['']
  const all = ['']
  for (let length = 1; length <= 3; length++) {
    longest = longest.flatMap((name) => bytes.map((byte) => name + byte))
    all.push(...longest)
  }
  return all
})()

/** Reports whether a grant allows a command on one channel, as the server decides it. */
export function may(grant: CompiledGrant, command: string, channel: string): boolean {
  const identity = { user: grant.user, ceilings: [], token: undefined }
  const request = ArgumentList.of(command, channel)
  return authorize(identity, undefined, CATALOG.get(command), request) === undefined
}
