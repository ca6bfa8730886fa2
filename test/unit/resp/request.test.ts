import { describe, expect, test } from 'vitest'
import { RecentNames } from '../../../server/resp/request.ts'

function nameOf(names: RecentNames, text: string): string {
  const bytes = Buffer.from(`<${text}>`, 'latin1')
  return names.of(bytes, 1, bytes.length - 1)
}

describe('Recent names', () => {
  test('are the bytes asked for, whatever was asked before', () => {
    const names = new RecentNames()
    const asked = [
      '',
      'a',
      'b',
      'room:1',
      'room:2',
      'moor:1',
      '\xff\0',
      'x'.repeat(64),
      'x'.repeat(65),
    ]
    for (let round = 0; round < 3; round++) {
      for (const text of asked) expect(nameOf(names, text)).toBe(text)
    }
  })

  test('are told apart where they take the same place', () => {
    const names = new RecentNames()
    for (let i = 0; i < 5_000; i++) {
      const text = `${String(i).padStart(6, '0')}:same`
      expect(nameOf(names, text)).toBe(text)
    }
  })
})
