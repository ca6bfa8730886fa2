import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { check } from '../../../server/cli/check.ts'
import { folderWith } from '../../support/folder.ts'
import { runHere } from '../../support/process.ts'

const SECRET = 'canary-secret-of-more-than-32-bytes'

/** Beside everything that may be open, a secret in each place that may hold one. */
const OPEN = `
requirepass canary-password
user u on >canary-user +@all
masterauth canary-primary
jwt-issuer i
jwt-audience a
jwt-secret ${SECRET}
issuer shop issuer s
issuer shop audience a
issuer shop secret ${SECRET}-of-the-shop
metrics-token ${SECRET}
upstream redis://127.0.0.1
upstream-password ${SECRET}
ws-allowed-origins *
`

const CLOSED = `
port 0
jwt-issuer i
jwt-audience a
jwt-secret-file secret
jwt-ceiling most
user most off +@all allchannels
`

/** A folder with a configuration whose files nobody else can read. */
function configured(text: string): string {
  const cwd = folderWith({ 'a.conf': text, secret: SECRET })
  for (const name of ['a.conf', 'secret']) chmodSync(join(cwd, name), 0o600)
  return cwd
}

test('warns of what is open, with one line each, and says that the configuration is good', async () => {
  const cwd = configured(OPEN)
  const { code, output, errors } = await runHere(cwd, () => check(['a.conf']))
  expect(code).toBe(0)
  expect(output).toMatch(/^The configuration is good\.\n/)
  expect(errors.split('\n').map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
    'warning: masterauth',
    'warning: jwt-ceiling',
    'warning: issuer shop ceiling',
    'warning: ws-allowed-origins',
    '',
  ])
})

test.each([[['--strict', 'a.conf']], [['a.conf', '--strict', '--timeout', '5']]])(
  'with %j what is open is a fault',
  async (args) => {
    const outcome = await runHere(configured(OPEN), () => check(args))
    expect([outcome.code, outcome.output]).toEqual([1, ''])
    expect(outcome.errors).toMatch(/\nrespcast: open with --strict: 4\n$/)
  },
)

test('with --strict a configuration that leaves nothing open is good', async () => {
  const outcome = await runHere(configured(CLOSED), () => check(['--strict', 'a.conf']))
  expect(outcome).toEqual({ code: 0, output: 'The configuration is good.\n', errors: '' })
})

test('says that the upstream was not connected to: only a running server knows whether it can be', async () => {
  const cwd = configured(`${CLOSED}upstream redis://127.0.0.1:1\n`)
  const outcome = await runHere(cwd, () => check(['--strict', 'a.conf']))
  expect(outcome).toEqual({
    code: 0,
    output: 'The configuration is good.\nThe upstream redis://127.0.0.1:1 was not connected to.\n',
    errors: '',
  })
})

test('takes an upstream for no secret: a file that names one may be read by all', async () => {
  const cwd = configured('upstream redis://127.0.0.1:1\nport 0\n')
  chmodSync(join(cwd, 'a.conf'), 0o644)
  expect((await runHere(cwd, () => check(['a.conf']))).errors).toBe('')
})

test('never repeats a secret', async () => {
  const cwd = configured(OPEN)
  chmodSync(join(cwd, 'a.conf'), 0o644)
  const { errors } = await runHere(cwd, () => check(['--strict', 'a.conf']))
  expect(errors).toContain('warning: configuration file: ')
  expect(errors).not.toContain('canary')
})

test('reads certificates as a start does', async () => {
  const tls = 'http-tls yes\ntls-cert-file /nowhere\ntls-key-file /nowhere\n'
  const cwd = configured(CLOSED + tls)
  await expect(runHere(cwd, () => check(['a.conf']))).rejects.toThrow(
    'tls-cert-file /nowhere: cannot be read (ENOENT). Give a PEM file.',
  )
})
