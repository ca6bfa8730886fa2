import { describe, expect, test } from 'vitest'
import { ALL_COMMANDS } from '../../../server/command/commands.ts'
import { specsOf, type CommandData } from '../../../server/command/spec.ts'

const data: CommandData = {
  arity: 1,
  flags: [],
  categories: ['slow'],
  group: 'server',
  since: '1.0.0',
  summary: 'Does.',
}

test('Specs follow the record, each container before its subcommands', () => {
  const specs = specsOf({
    a: data,
    b: { ...data, subcommands: { y: { ...data, arity: 3 }, x: data } },
    c: data,
  })
  expect(specs.map(({ name, arity }) => [name, arity])).toEqual([
    ['a', 1],
    ['b', 1],
    ['b|y', 3],
    ['b|x', 1],
    ['c', 1],
  ])
  expect(specs.every((spec) => !('subcommands' in spec))).toBe(true)
})

/** Words of each form of a syntax that cannot be left out. */
function requiredWords(syntax: string): number[] {
  let required = syntax
  for (let left = ''; left !== required;) {
    left = required
    required = left.replaceAll(/\[[^[\]]*\]/g, '')
  }
  return required.split(' | ').map((form) => form.split(' ').filter((word) => word !== '').length)
}

describe('The syntax agrees with the arity:', () => {
  // As in Redis, HELP names an attribute, and SETUSER without any is allowed.
  const others = ALL_COMMANDS.filter(({ name }) => name !== 'acl|setuser')

  test.each(others)('$name', ({ name, arity, syntax = '' }) => {
    const forms = typeof syntax === 'string' ? [syntax] : syntax.map(([form]) => form)
    const counts = forms.flatMap(requiredWords).map((count) => name.split('|').length + count)
    expect(Math.min(...counts)).toBe(Math.abs(arity))
    if (arity >= 0) expect(Math.max(...counts)).toBe(arity)
  })
})
