import { describe, expect, test } from 'vitest'
import { TestCore, type TestClient } from '../../../support/test-core.ts'

/** The words of each line that a monitor was shown since the last look. */
function shown(monitor: TestClient): string[] {
  return monitor
    .read()
    .split('\r\n')
    .filter((line) => line.startsWith('+1'))
    .map((line) => line.slice(line.indexOf(']') + 2))
}

function watched(): { server: TestCore; monitor: TestClient; client: TestClient } {
  const server = new TestCore()
  const [monitor, client] = [server.connect(), server.connect()]
  expect(monitor.send('MONITOR')).toBe('+OK\r\n')
  return { server, monitor, client }
}

describe('MONITOR', () => {
  test('shows time, database, address and the quoted words of each command', () => {
    const { monitor, client } = watched()
    client.send('SELECT', '3')
    client.send('PUBLISH', 'a b', '"\\\r\n\t\x07\b\x00\xff')
    expect(monitor.read()).toBe(
      '+1700000000.000000 [3 127.0.0.1:40002] "SELECT" "3"\r\n' +
        '+1700000000.000000 [3 127.0.0.1:40002] "PUBLISH" "a b" "\\"\\\\\\r\\n\\t\\a\\b\\x00\\xff"\r\n',
    )
  })

  test('shows a monitor its own commands after their replies', () => {
    const { monitor } = watched()
    expect(monitor.send('PING')).toBe('+PONG\r\n+1700000000.000000 [0 127.0.0.1:40001] "PING"\r\n')
  })

  test('shows nothing that CLIENT REPLY silences', () => {
    const { monitor, client } = watched()
    monitor.send('CLIENT', 'REPLY', 'SKIP')
    client.send('ECHO', '1')
    expect(shown(monitor)).toEqual([])
    monitor.send('CLIENT', 'ID')
    client.send('ECHO', '2')
    expect(shown(monitor)).toEqual(['"ECHO" "2"'])
    monitor.send('CLIENT', 'REPLY', 'OFF')
    client.send('ECHO', '3')
    expect(monitor.read()).toBe('')
    monitor.send('CLIENT', 'REPLY', 'ON')
    client.send('ECHO', '4')
    expect(shown(monitor)).toEqual(['"ECHO" "4"'])
  })

  test('shows a transaction when it is executed, EXEC last', () => {
    const { monitor, client } = watched()
    client.send('MULTI')
    client.send('PING')
    client.send('ECHO', 'x')
    expect(shown(monitor)).toEqual(['"MULTI"'])
    client.send('EXEC')
    expect(shown(monitor)).toEqual(['"PING"', '"ECHO" "x"', '"EXEC"'])
  })

  test('shows neither refused commands nor those of administrators', () => {
    const { server, monitor, client } = watched()
    client.send('NONSENSE')
    client.send('ECHO')
    client.send('CONFIG', 'GET', 'port')
    client.send('ACL', 'LIST')
    client.send('CLIENT', 'LIST')
    client.send('SUBSCRIBE', 'a')
    client.send('ECHO', 'x')
    server.setUser('u', 'on nopass +ping')
    expect(shown(monitor)).toEqual(['"SUBSCRIBE" "a"'])
  })

  test('hides secrets', () => {
    const { server, monitor, client } = watched()
    server.setUser('u', 'on >secret ~* &* +@all')
    client.send('AUTH', 'u', 'secret')
    client.send('HELLO', '3', 'AUTH', 'u', 'secret', 'SETNAME', 'n')
    expect(shown(monitor)).toEqual([
      '"AUTH" "(redacted)" "(redacted)"',
      '"HELLO" "3" "AUTH" "(redacted)" "(redacted)" "SETNAME" "n"',
    ])
  })

  test('marks its client with the flag O', () => {
    const { monitor } = watched()
    expect(monitor.send('CLIENT', 'INFO')).toContain(' flags=O ')
  })

  test('takes no data commands from its client', () => {
    const { monitor } = watched()
    const refused = "-ERR Replica can't interact with the keyspace\r\n"
    expect(monitor.send('PUBLISH', 'a', 'x')).toBe(refused)
    expect(monitor.send('SPUBLISH', 'a', 'x')).toBe(refused)
    expect(monitor.send('DBSIZE')).toBe(refused)
    monitor.send('MULTI')
    expect(monitor.send('PUBLISH', 'a', 'x')).toBe(refused)
    expect(monitor.send('EXEC')).toContain('-EXECABORT ')
  })

  test('lets its client subscribe too', () => {
    const { monitor, client } = watched()
    expect(monitor.send('SUBSCRIBE', 'a')).toContain('$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n')
    client.send('PUBLISH', 'a', 'x')
    const text = monitor.read()
    expect(text).toContain('*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n')
    expect(text).toContain('"PUBLISH" "a" "x"\r\n')
  })

  test('is not answered a second time', () => {
    const { monitor } = watched()
    expect(monitor.send('MONITOR')).toBe('')
  })

  test('is not allowed in a transaction', () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    expect(client.send('MONITOR')).toBe('+QUEUED\r\n')
    expect(client.send('EXEC')).toBe(
      "*1\r\n-ERR MONITOR isn't allowed for DENY BLOCKING client\r\n",
    )
    expect(client.send('CLIENT', 'INFO')).toContain(' flags=N ')
  })

  test('ends with RESET', () => {
    const { monitor, client } = watched()
    expect(monitor.send('RESET')).toBe('+RESET\r\n')
    client.send('PING')
    expect(monitor.read()).toBe('')
    expect(monitor.send('PUBLISH', 'a', 'x')).toBe(':0\r\n')
  })
})

test('A very long argument is cut in the line of MONITOR, with the number of bytes left out', () => {
  const { monitor, client } = watched()
  client.send('ECHO', 'x'.repeat(16_777_219))
  const [line = ''] = shown(monitor)
  expect(line.slice(-26)).toBe(`${'x'.repeat(7)}"... (3 more bytes)`)
  expect(line).toHaveLength(16_777_216 + '"ECHO" ""... (3 more bytes)'.length)
})
