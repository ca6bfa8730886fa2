import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

describe('CONFIG', () => {
  test('GET answers directives that match any pattern', () => {
    const client = new TestCore().connect({ protocol: 3 })
    expect(client.send('CONFIG', 'GET', 'max-nonsense', 'maxclients')).toMatch(
      /^%1\r\n\$10\r\nmaxclients\r\n\$\d+\r\n\d+\r\n$/,
    )
    expect(client.send('CONFIG', 'GET', 'nonsense')).toBe('%0\r\n')
  })

  test('SET changes all of them or none', () => {
    const client = new TestCore().connect()
    const slower = (): string => client.send('CONFIG', 'GET', 'slowlog-max-len')
    expect(client.send('CONFIG', 'SET', 'slowlog-max-len', '7')).toBe('+OK\r\n')
    expect(slower()).toContain('$1\r\n7\r\n')
    expect(client.send('CONFIG', 'SET', 'slowlog-max-len', '8', 'maxclients', 'x')).toMatch(
      /^-ERR CONFIG SET failed/,
    )
    expect(client.send('CONFIG', 'SET', 'a', 'b', 'c')).toBe('-ERR syntax error\r\n')
    expect(slower()).toContain('$1\r\n7\r\n')
  })

  test('RESETSTAT sets the statistics of commands to zero', () => {
    const core = new TestCore()
    const client = core.connect()
    client.send('ECHO', 'x')
    expect(core.table.named('echo')?.calls).toBe(1)
    expect(client.send('CONFIG', 'RESETSTAT')).toBe('+OK\r\n')
    expect(core.table.named('echo')?.calls).toBe(0)
    // RESETSTAT itself, which ended afterwards.
    expect(core.counters.commandsProcessed).toBe(1)
  })

  test('REWRITE needs a configuration file', async () => {
    expect(await new TestCore().connect().sendAndWait('CONFIG', 'REWRITE')).toBe(
      '-ERR The server is running without a config file\r\n',
    )
  })
})
