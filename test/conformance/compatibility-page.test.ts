import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { escapeBytes } from '../support/transcript.ts'
import { applyRules, RULES, ruleNamed } from './rules.ts'

const page = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8')

for (const { name } of RULES) {
  test(`docs/compatibility.md explains the rule ${name}`, () => {
    expect(page).toMatch(new RegExp(`^\\|.*\\| \`${name}\` \\|$`, 'm'))
  })
}

test('docs/compatibility.md names no rule that there is not', () => {
  const named = [...page.matchAll(/\| `([a-z-]+)` \|$/gm)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(10)
  for (const name of named) expect(() => ruleNamed(name)).not.toThrow()
})

test('a rule rewrites only what it is about', () => {
  const hello =
    '%7\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n8.0.1\r\n$5\r\nproto\r\n:3\r\n'
  const line = '$58\r\nuser default on nopass sanitize-payload ~* &* +@all\r\n'
  expect(escapeBytes(applyRules({ server: 'valkey', version: '8.0.1' }, hello + line))).toBe(
    String.raw`%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.0.6\r\n$5\r\nproto\r\n:3\r\n` +
      String.raw`$34\r\nuser default on nopass ~* &* +@all\r\n`,
  )
  expect(applyRules({ server: 'valkey', version: '9.1.2' }, line)).toBe(line)
  expect(applyRules({ server: 'redis', version: '8.0.6' }, '+OK\r\n')).toBe('+OK\r\n')
})
