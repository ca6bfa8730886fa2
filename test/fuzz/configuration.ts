import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directiveNames, type Directive } from '../../server/config/directives.ts'
import { loadConfig } from '../../server/config/load.ts'
import { ConfigError } from '../../server/config/parse.ts'
import { Config } from '../../server/config/store.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

const DIRECTIVES = [...directiveNames()]

const WORDS = [
  ...[
    'yes',
    'no',
    '0',
    '1',
    '-1',
    '10',
    '512mb',
    '1gb',
    '5%',
    '99999999999999999999',
    '1e3',
    '0x10',
    '755',
  ],
  ...[
    '*',
    '127.0.0.1',
    '::1',
    'https://a.example',
    '/tmp/a',
    'normal',
    'pubsub',
    'websocket',
    '""',
    "''",
  ],
  ...[
    'on',
    '+@all',
    '&*',
    '~*',
    'nopass',
    '>secret',
    'a',
    'alias',
    'issuer',
    'HS256',
    'RS256',
    'user',
  ],
  ...[
    '"a b"',
    '"\\x00"',
    '"unclosed',
    "it's",
    '\\',
    '\xff',
    '\0',
    '#',
    '# comment',
    '\t',
    '$',
    '{sub}',
  ],
]
const PIECES = ['\n', '\r\n', ' ', '"', "'", '\\', '#', '\0', '\xff', '\n\n', 'port 1\n']

function valueOf(dice: Dice, [, directive]: readonly [string, Directive]): string {
  if (dice.oneIn(2) && directive.values) return dice.pick(directive.values)
  if (dice.oneIn(3)) return directive.default
  return dice.several(0, 4, () => dice.pick(WORDS)).join(' ')
}

function lineOf(dice: Dice): string {
  if (dice.oneIn(30)) return dice.pick(['', '# a comment', '   ', dice.bytes(20)])
  const entry = dice.pick(DIRECTIVES)
  const [name] = entry
  // Other files are no matter of a text.
  if (name === 'include') return ''
  const written = dice.oneIn(20)
    ? dice.damaged(name, ['x', '-', 'é'])
    : dice.oneIn(4)
      ? name.toUpperCase()
      : name
  return `${written} ${valueOf(dice, entry)}`
}

/**
 * Texts of a configuration file: loaded, or refused with a `ConfigError` of one line that names the place, the directive that
 * stands there, and a remedy. CONFIG REWRITE of what was loaded is loaded again with the same values, and rewritten the same.
 */
export const configuration: FuzzTarget = {
  name: 'configuration',
  open: () => {
    const folder = mkdtempSync(join(tmpdir(), 'respcast-fuzz-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'f.conf')
    const load = (text: string): Config => {
      writeFileSync(path, text, 'latin1')
      return new Config(loadConfig({ argv: [path], env: {}, cwd: folder }))
    }
    return (dice) => {
      const whole = dice.several(0, 5, () => lineOf(dice)).join('\n')
      const text = dice.oneIn(4) ? dice.damaged(whole, PIECES) : whole
      if (/^\s*include/im.test(text)) return
      let config
      try {
        config = load(text)
      } catch (error) {
        ok(error instanceof ConfigError, String(error))
        assertOneLine(error, text, path)
        return
      }
      const rewritten = config.rewrite(text, [])
      const again = load(rewritten)
      strictEqual(again.rewrite(rewritten, []), rewritten)
      deepStrictEqual(shownOf(again), shownOf(config))
    }
  },
}

/** What CONFIG GET shows; users are rewritten from the table of users, which is empty here. */
function shownOf(config: Config): [string, string][] {
  return config.get(['*'])
}

function assertOneLine(error: ConfigError, text: string, path: string): void {
  const { message, where, directive, reason, remedy } = error
  ok(!/[\r\n\0]/.test(message), `not one line: ${JSON.stringify(message)}`)
  ok(message.length <= 4_096, `${message.length} characters`)
  ok(reason !== '' && remedy !== '' && message.endsWith(remedy), message)
  const line = where.startsWith(`${path}:`) ? Number(where.slice(path.length + 1)) : Number.NaN
  const written = text.split('\n')[line - 1]
  ok(written !== undefined, `no such line: ${where}`)
  // A first word with quotes or controls in it cannot be named as it was written.
  const [word = ''] = written.trim().split(' ', 1)
  const isNamed = /["'\0-\x1f]/.test(word) || (directive !== '' && written.includes(directive))
  ok(isNamed, `${JSON.stringify(directive)} is not in line ${line}: ${JSON.stringify(written)}`)
}
