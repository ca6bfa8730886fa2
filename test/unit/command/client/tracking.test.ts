import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../../server/client/close.ts'
import { TestCore, type TestClient } from '../../../support/test-core.ts'

const OFF =
  '%3\r\n$5\r\nflags\r\n~1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n'

function connect(): TestClient {
  return new TestCore().connect({ protocol: 3 })
}

function tracking(client: TestClient, ...args: string[]): string {
  return client.send('CLIENT', 'TRACKING', ...args)
}

function info(client: TestClient): string {
  return client.send('CLIENT', 'TRACKINGINFO')
}

/** TRACKINGINFO's reply where there is no redirection. */
function infoOf(flags: string[], prefixes: string[] = []): string {
  const bulks = (items: string[]): string =>
    items.map((item) => `$${item.length}\r\n${item}\r\n`).join('')
  return (
    `%3\r\n$5\r\nflags\r\n~${flags.length}\r\n${bulks(flags)}$8\r\nredirect\r\n:0\r\n` +
    `$8\r\nprefixes\r\n*${prefixes.length}\r\n${bulks(prefixes)}`
  )
}

describe('CLIENT TRACKING', () => {
  test('is kept and shown, and RESET and OFF clear it', () => {
    const client = connect()
    expect(info(client)).toBe(OFF)
    expect(tracking(client, 'ON')).toBe('+OK\r\n')
    expect(info(client)).toBe(infoOf(['on']))
    expect(client.send('CLIENT', 'INFO')).toMatch(/ flags=t .* redir=0 /)
    expect(tracking(client, 'off')).toBe('+OK\r\n')
    expect(info(client)).toBe(OFF)
    tracking(client, 'ON')
    client.send('RESET')
    client.send('HELLO', '3')
    expect(info(client)).toBe(OFF)
    expect(client.send('CLIENT', 'INFO')).toMatch(/ flags=N .* redir=-1 /)
  })

  test('shows its options as flags, and prefixes in byte order', () => {
    const client = connect()
    tracking(client, 'ON', 'BCAST', 'PREFIX', 'b', 'PREFIX', 'a', 'NOLOOP')
    expect(info(client)).toBe(infoOf(['on', 'bcast', 'noloop'], ['a', 'b']))
    expect(client.send('CLIENT', 'INFO')).toContain(' flags=tB ')
    tracking(client, 'ON', 'BCAST', 'PREFIX', 'c')
    expect(info(client)).toBe(infoOf(['on', 'bcast'], ['a', 'b', 'c']))
  })

  test('broadcasts everything where no prefix is given', () => {
    const client = connect()
    tracking(client, 'ON', 'BCAST')
    expect(info(client)).toBe(infoOf(['on', 'bcast'], ['']))
  })

  test('counts in INFO', () => {
    const client = connect()
    tracking(client, 'ON')
    expect(client.send('INFO', 'clients')).toContain('\r\ntracking_clients:1\r\n')
  })

  test('redirects to a client that is there, and says so when it is gone', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    const target = server.connect()
    const id = target.client.id
    expect(tracking(client, 'ON', 'REDIRECT', String(id))).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'GETREDIR')).toBe(`:${id}\r\n`)
    expect(client.send('CLIENT', 'INFO')).toMatch(new RegExp(` flags=t .* redir=${id} `))
    target.client.close(CLOSES.killed)
    expect(info(client)).toContain('broken_redirect')
    expect(client.send('CLIENT', 'LIST')).toContain(' flags=tR ')
  })

  test.each([
    [['FOO'], 'syntax error'],
    [['ON', 'FOO'], 'syntax error'],
    [['OFF', 'FOO'], 'syntax error'],
    [['ON', 'PREFIX'], 'syntax error'],
    [['ON', 'REDIRECT', 'x'], 'value is not an integer or out of range'],
    [['ON', 'REDIRECT', '99'], 'The client ID you want redirect to does not exist'],
    [['ON', 'REDIRECT', '0'], 'The client ID you want redirect to does not exist'],
    [
      ['ON', 'REDIRECT', '1', 'REDIRECT', '1'],
      'A client can only redirect to a single other client',
    ],
    [['ON', 'PREFIX', 'a'], 'PREFIX option requires BCAST mode to be enabled'],
    [['ON', 'OPTIN', 'OPTOUT'], "You can't specify both OPTIN mode and OPTOUT mode"],
    [['ON', 'BCAST', 'OPTIN'], 'OPTIN and OPTOUT are not compatible with BCAST'],
    [
      ['ON', 'BCAST', 'PREFIX', 'a', 'PREFIX', 'ab'],
      "Prefix 'a' overlaps with another provided prefix 'ab'. Prefixes for a single client must not overlap.",
    ],
  ])('refuses %j', (args, error) => {
    const client = connect()
    expect(tracking(client, ...args)).toBe(`-ERR ${error}\r\n`)
    expect(info(client)).toBe(OFF)
  })

  test('does not switch its mode while it is on', () => {
    const client = connect()
    const switched = (what: string): string =>
      `-ERR You can't switch ${what} before disabling tracking for this client, and then re-enabling it with a ` +
      'different mode.\r\n'
    tracking(client, 'ON', 'OPTIN')
    expect(tracking(client, 'ON', 'OPTOUT')).toBe(switched('OPTIN/OPTOUT mode'))
    expect(tracking(client, 'ON', 'BCAST')).toBe(switched('BCAST mode on/off'))
    expect(info(client)).toBe(infoOf(['on', 'optin']))
    tracking(client, 'OFF')
    tracking(client, 'ON', 'BCAST', 'PREFIX', 'a')
    expect(tracking(client, 'ON')).toBe(switched('BCAST mode on/off'))
    expect(tracking(client, 'ON', 'BCAST', 'PREFIX', 'ab')).toBe(
      "-ERR Prefix 'ab' overlaps with an existing prefix 'a'. Prefixes for a single client must not overlap.\r\n",
    )
  })
})

describe('CLIENT CACHING', () => {
  test('holds for the next command', () => {
    const client = connect()
    tracking(client, 'ON', 'OPTIN')
    expect(client.send('CLIENT', 'CACHING', 'YES')).toBe('+OK\r\n')
    expect(info(client)).toBe(infoOf(['on', 'optin', 'caching-yes']))
    expect(info(client)).toBe(infoOf(['on', 'optin', 'caching-yes']))
    client.send('PING')
    expect(info(client)).toBe(infoOf(['on', 'optin']))
    tracking(client, 'OFF')
    tracking(client, 'ON', 'OPTOUT')
    client.send('CLIENT', 'CACHING', 'no')
    expect(info(client)).toBe(infoOf(['on', 'optout', 'caching-no']))
  })

  test('needs the mode that it is about', () => {
    const client = connect()
    const caching = (word: string): string => client.send('CLIENT', 'CACHING', word)
    const needsTracking =
      '-ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled\r\n'
    expect(caching('YES')).toBe(needsTracking)
    expect(caching('MAYBE')).toBe(needsTracking)
    tracking(client, 'ON')
    expect(caching('NO')).toBe(
      '-ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.\r\n',
    )
    expect(caching('MAYBE')).toBe('-ERR syntax error\r\n')
    tracking(client, 'OFF')
    tracking(client, 'ON', 'OPTOUT')
    expect(caching('YES')).toBe(
      '-ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.\r\n',
    )
  })
})

test('CLIENT GETREDIR answers -1 without tracking and 0 without redirection', () => {
  const client = connect()
  expect(client.send('CLIENT', 'GETREDIR')).toBe(':-1\r\n')
  tracking(client, 'ON')
  expect(client.send('CLIENT', 'GETREDIR')).toBe(':0\r\n')
})
