import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { completion, SHELLS } from '../../../server/cli/completions.ts'
import { folderWith } from '../../support/folder.ts'
import { runHere } from '../../support/process.ts'

const scriptFor = async (shell: string): Promise<string> =>
  (await runHere('/', () => Promise.resolve(completion([shell])))).output

/** Asks bash what it would complete the last word with. */
async function completed(...words: string[]): Promise<string[]> {
  const script =
    `${await scriptFor('bash')}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _respcast\n` +
    `printf '%s\\n' "\${COMPREPLY[@]}"`
  const options = { cwd: folderWith({ 'my.conf': '' }), encoding: 'utf8' } as const
  const output = execFileSync('bash', ['-c', script, 'bash', 'respcast', ...words], options)
  return output.split('\n').filter(Boolean)
}

describe('In bash', () => {
  test.each([
    [['tok'], ['token']],
    [['--jwt-iss'], ['--jwt-issuer']],
    [['my'], ['my.conf']],
    [
      ['token', ''],
      ['mint', 'verify', 'explain', 'my.conf'],
    ],
    [['token', 'mint', '--ro'], ['--role']],
    [['completion', 'f'], ['fish']],
    [
      ['init', '--'],
      ['--issuer', '--audience'],
    ],
    [['my.conf', '--http-b'], ['--http-bind']],
    [['--append'], []],
  ])('%j becomes one of %j', async (words, expected) => {
    expect(await completed(...words)).toEqual(expected)
  })
})

test('every shell gets a script that names commands and directives', async () => {
  for (const shell of SHELLS) {
    const script = await scriptFor(shell)
    for (const word of ['healthcheck', 'jwt-issuer', 'explain']) expect(script).toContain(word)
  }
})

test('another shell is answered with those that are known', async () => {
  const { code, output, errors } = await runHere('/', () => Promise.resolve(completion(['tcsh'])))
  expect([code, output]).toEqual([2, ''])
  expect(errors).toMatch(/^Usage: respcast completion bash\|zsh\|fish/)
})
