import { describe, expect, test } from 'vitest'
import { infoText } from '../../../../server/command/server/info.ts'
import { TestCore } from '../../../support/test-core.ts'

/** The names of the sections in a text of INFO. */
function sections(text: string): string[] {
  return [...text.matchAll(/^# (\w+)\r$/gm)].map((match) => match[1] as string)
}

function field(server: TestCore, name: string): string | undefined {
  const text = infoText(server, ['everything'])
  return new RegExp(`^${name}:(.*)\\r$`, 'm').exec(text)?.[1]
}

describe('INFO', () => {
  test('shows the usual sections in Redis order, and others when asked', () => {
    const services = new TestCore()
    const usual =
      'Server Clients Memory Persistence Threads Stats Replication CPU Modules Errorstats Cluster Keyspace Keysizes'.split(
        ' ',
      )
    expect(sections(infoText(services, []))).toEqual(usual)
    expect(sections(infoText(services, ['default']))).toEqual(usual)
    expect(sections(infoText(services, ['all']))).toContain('Commandstats')
    expect(sections(infoText(services, ['everything']))).toContain('Commandstats')
    expect(sections(infoText(services, ['commandstats', 'stats']))).toEqual([
      'Stats',
      'Commandstats',
    ])
    expect(infoText(services, ['nonsense'])).toBe('')
  })

  test('separates sections by an empty line', () => {
    const services = new TestCore()
    expect(infoText(services, ['modules', 'keyspace', 'cluster'])).toBe(
      '# Modules\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n',
    )
  })

  test('counts what Pub/Sub holds and has done', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('PSUBSCRIBE', 'a*')
    client.send('SSUBSCRIBE', 's')
    client.send('PUBLISH', 'a', 'x')
    expect(field(server, 'pubsub_channels')).toBe('2')
    expect(field(server, 'pubsub_patterns')).toBe('1')
    expect(field(server, 'pubsubshard_channels')).toBe('1')
    expect(field(server, 'pubsub_messages_published')).toBe('1')
    expect(field(server, 'pubsub_messages_delivered')).toBe('2')
    expect(field(server, 'total_commands_processed')).toBe('4')
  })

  test('counts errors by their code and refusals by their kind', () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +publish resetchannels')
    const client = server.connect()
    client.send('AUTH', 'u', 'x')
    client.send('PUBLISH', 'a', 'x')
    client.send('PING')
    client.send('NONSENSE')
    expect(field(server, 'errorstat_NOPERM')).toBe('count=2')
    expect(field(server, 'errorstat_ERR')).toBe('count=1')
    expect(field(server, 'total_error_replies')).toBe('3')
    expect(field(server, 'acl_access_denied_channel')).toBe('1')
    expect(field(server, 'acl_access_denied_cmd')).toBe('1')
  })

  test('counts the calls of each command', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('PING')
    client.send('PING', 'a', 'b')
    client.send('CLIENT', 'ID')
    client.send('CLIENT', 'ID', 'x')
    expect(field(server, 'cmdstat_ping')).toMatch(/^calls=2,.*rejected_calls=0,failed_calls=1$/)
    expect(field(server, 'cmdstat_client\\|id')).toMatch(
      /^calls=1,.*rejected_calls=1,failed_calls=0$/,
    )
    expect(field(server, 'cmdstat_publish')).toBeUndefined()
  })

  test('is verbatim text in RESP3', () => {
    const client = new TestCore().connect({ protocol: 3 })
    expect(client.send('INFO', 'Cluster')).toBe('=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n')
  })
})
