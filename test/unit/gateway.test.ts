import { describe, expect, test } from 'vitest'
import { RespcastError } from '../../server/errors.ts'
import { explainListen } from '../../server/gateway.ts'
import { startServer } from '../support/server.ts'

const systemError = (code: string): Error => Object.assign(new Error(code), { code })

describe('A listener that cannot be opened is explained', () => {
  test.each([
    [
      'EADDRINUSE',
      'http-port: cannot listen on 127.0.0.1:8080: EADDRINUSE. Something else listens there. Pass another: ' +
        '--http-port <port>, or 0 to turn this listener off.',
    ],
    [
      'EACCES',
      'http-port: cannot listen on 127.0.0.1:8080: EACCES. This user may not. Pass a port above 1023: ' +
        '--http-port <port>.',
    ],
    [
      'EADDRNOTAVAIL',
      'http-port: cannot listen on 127.0.0.1:8080: EADDRNOTAVAIL. Check the directive http-port and the address it ' +
        'goes with.',
    ],
  ])('by %s', (code, message) => {
    const error = explainListen(systemError(code), 'http-port', '127.0.0.1:8080')
    expect(error).toBeInstanceOf(RespcastError)
    expect(error).toMatchObject({ code: 'ERR_LISTEN', message })
  })

  test('in the words of a RESP listener, which names its address itself', () => {
    const cause = systemError('EADDRINUSE')
    const error = new RespcastError('ERR_LISTEN', 'cannot listen on [::1]:6380: EADDRINUSE', {
      cause,
    })
    expect(explainListen(error, 'port')).toMatchObject({
      message:
        'port: cannot listen on [::1]:6380: EADDRINUSE. Something else listens there. Pass another: --port <port>, ' +
        'or 0 to turn this listener off.',
    })
  })

  test('but not an error that is not of the system', () => {
    const error = new Error('bug')
    expect(explainListen(error, 'port')).toBe(error)
  })
})

describe('A gateway that has started', () => {
  test('knows where its listeners are, by the ports that it got', async () => {
    const server = await startServer()
    const { port, httpPort, adminPort } = server
    try {
      expect(server.core.addresses).toEqual({
        resp: `127.0.0.1:${port}`,
        http: `127.0.0.1:${httpPort}`,
        admin: `127.0.0.1:${adminPort}`,
      })
    } finally {
      await server.stop()
    }
  })
})
