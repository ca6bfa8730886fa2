import { SeededRandom } from '../support/oracle-random.ts'
import { encodeWords } from '../support/transcript.ts'

const INLINE = [
  'PING\r\n',
  'PING\n',
  'PING "a b"\r\n',
  "ECHO 'a'\r\n",
  'ECHO "\\x41\\n\\q"\r\n',
  'FOO a b\r\n',
  '\r\n',
  '   PING   x\r\n',
  'ECHO ""\r\n',
]
const COMMANDS = [
  ['PING'],
  ['PING', ''],
  ['ECHO', '*1\r\n$4\r\nPING\r\n'],
  ['ECHO', 'a"b\'c'],
  ['CLIENT', 'GETNAME'],
  ['FOO', '$5', '+OK'],
  ['PUBLISH', 'a', 'b'],
]
/** Replacements of a byte: nothing that ends a line, and no zero byte, for both are judged by rules. */
const OTHERS = '*$:+-0123456789 "\'\\aPZ>%_\x80\xff'.split('')

/** Bytes to send on one connection, piece by piece; the same for a seed on every machine. */
export function generatePieces(seed: number): string[] {
  const random = new SeededRandom(seed)
  const bytes = random
    .several(1, 5, () =>
      random.chance(35) ? random.pick(INLINE) : encodeWords(random.pick(COMMANDS)),
    )
    .join('')
  return cut(random, damage(random, bytes))
}

function damage(random: SeededRandom, bytes: string): string {
  let text = bytes
  for (let i = random.below(3); i > 0; i--) {
    const at = random.below(text.length)
    const [before, after] = [text.slice(0, at), text.slice(at + 1)]
    if ('\r\n'.includes(text.charAt(at))) continue
    const kind = random.below(3)
    if (kind === 0) text = before + after
    else if (kind === 1) text = before + random.pick(OTHERS) + after
    else text = before + random.pick(OTHERS) + text.slice(at)
  }
  return text
}

function cut(random: SeededRandom, bytes: string): string[] {
  const pieces: string[] = []
  let at = 0
  while (at < bytes.length) {
    const length = 1 + random.below(random.chance(50) ? 5 : bytes.length)
    pieces.push(bytes.slice(at, at + length))
    at += length
  }
  return pieces
}
