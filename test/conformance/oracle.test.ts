import { afterEach, describe, expect, test, vi } from 'vitest'
import { compareVersions, openOracle } from '../support/oracle.ts'
import { escapeBytes, parseTranscript, splitWords, unescapeBytes } from '../support/transcript.ts'
import { normalise } from './normalise.ts'
import { withDeviation } from './differential.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the oracle', () => {
  test('has to be there in CI', async () => {
    vi.stubEnv('PATH', '')
    vi.stubEnv('RESPCAST_ORACLE', '')
    vi.stubEnv('CI', 'true')
    await expect(openOracle()).rejects.toThrow('valkey-server is not installed')
  })

  test('may be missing elsewhere', async () => {
    vi.stubEnv('PATH', '')
    vi.stubEnv('RESPCAST_ORACLE', '')
    vi.stubEnv('CI', '')
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    await expect(openOracle()).resolves.toBeUndefined()
    expect(said.mock.calls.flat().join('')).toContain('differential tests are left out')
    said.mockRestore()
  })

  test('is older or newer by numbers, not by letters', () => {
    expect(compareVersions('8.0.10', '8.0.9')).toBeGreaterThan(0)
    expect(compareVersions('8.0', '8.0.0')).toBe(0)
    expect(compareVersions('7.2.4', '8.0.0')).toBeLessThan(0)
  })
})

describe('normalising', () => {
  const confirmation = (word: string, name: string, count: number): string =>
    `*3\r\n$${word.length}\r\n${word}\r\n$${name.length}\r\n${name}\r\n:${count}\r\n`

  test('puts the names of unsubscribing from all in order and leaves their counts', () => {
    const given = confirmation('unsubscribe', 'b', 1) + confirmation('unsubscribe', 'a', 0)
    expect(normalise(given)).toBe(
      confirmation('unsubscribe', 'a', 1) + confirmation('unsubscribe', 'b', 0),
    )
  })

  test('leaves confirmations whose counts stay, and those of subscribing', () => {
    const kept =
      confirmation('unsubscribe', 'b', 0) +
      confirmation('unsubscribe', 'a', 0) +
      confirmation('subscribe', 'b', 1) +
      confirmation('subscribe', 'a', 2)
    expect(normalise(kept)).toBe(kept)
  })

  test('leaves the order of two messages', () => {
    const kept =
      '*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n2\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n'
    expect(normalise(kept)).toBe(kept)
  })

  test('orders the pattern messages of one publish only', () => {
    const message = (pattern: string, payload: string): string =>
      `>4\r\n$8\r\npmessage\r\n$2\r\n${pattern}\r\n$1\r\na\r\n$1\r\n${payload}\r\n`
    expect(normalise(message('b*', '2') + message('a*', '2') + message('a*', '1'))).toBe(
      message('a*', '2') + message('b*', '2') + message('a*', '1'),
    )
  })

  test('leaves what looks like a frame inside a payload', () => {
    const payload = '*2\r\n$1\r\nb\r\n$1\r\na\r\n'
    const kept = `$${payload.length}\r\n${payload}\r\n+OK\r\n`
    expect(normalise(kept)).toBe(kept)
  })
})

describe('transcripts', () => {
  test('read bytes and words back', () => {
    const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('')
    expect(unescapeBytes(escapeBytes(bytes))).toBe(bytes)
    expect(splitWords(String.raw`a "b c" "\x00\r\n" '' 'd"e' f"g h"`)).toEqual([
      'a',
      'b c',
      '\x00\r\n',
      '',
      'd"e',
      'fg h',
    ])
  })

  test('take a deviation only where its rule holds', () => {
    const [step] = parseTranscript(
      't',
      String.raw`A: UNSUBSCRIBE
respcast unsubscribe-nosub: +own\r\n`,
    ).steps
    if (!step) throw new Error('no step')
    const answer = (version: string): string =>
      withDeviation({ server: 'valkey', version }, step, 'A', '+theirs\r\n')
    expect(answer('8.0.1')).toBe('+own\r\n')
    expect(answer('8.0.2')).toBe('+theirs\r\n')
  })
})
