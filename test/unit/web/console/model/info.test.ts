import { describe, expect, test } from 'vitest'
import { infoFields, parseInfo } from '../../../../../web/console/model/info.ts'

describe('INFO', () => {
  test('INFO is sections of fields', () => {
    const sections = parseInfo('# Server\r\nredis_version:8.0.6\r\n\r\n# Clients\r\na:b:c\r\n')
    expect(sections).toEqual([
      { title: 'Server', fields: [['redis_version', '8.0.6']] },
      { title: 'Clients', fields: [['a', 'b:c']] },
    ])
    expect(infoFields(sections).get('a')).toBe('b:c')
  })
})
