/** A piece of a reply stream: one frame of Pub/Sub, one flat list of bulk strings, or any other line or bulk string. */
export type Piece =
  | {
      readonly kind: 'confirmation' | 'message'
      readonly bytes: string
      readonly word: string
      readonly values: readonly string[]
    }
  | { readonly kind: 'list'; readonly header: string; readonly values: readonly string[] }
  | { readonly kind: 'other'; readonly bytes: string }

const CONFIRMATIONS = new Set([
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'unsubscribe',
  'punsubscribe',
  'sunsubscribe',
])
const MESSAGES = new Set(['message', 'pmessage', 'smessage'])

/**
 * Cuts a stream of replies into pieces without trusting the nesting: EXEC around SUBSCRIBE sends more values than its
 * header says. All pieces together are the stream.
 */
export function cutReplies(stream: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  while (at < stream.length) {
    const token = tokenAt(stream, at)
    const piece = aggregateAt(stream, at, token)
    if (piece === undefined) {
      pieces.push({ kind: 'other', bytes: token })
      at += token.length
    } else {
      pieces.push(piece)
      at += piece.kind === 'list' ? bytesOf(piece).length : bytesOf(piece).length
    }
  }
  return pieces
}

/** The bytes of a piece. */
export function bytesOf(piece: Piece): string {
  return piece.kind === 'list' ? piece.header + piece.values.join('') : piece.bytes
}

function tokenAt(stream: string, at: number): string {
  const end = stream.indexOf('\r\n', at)
  if (end < 0) return stream.slice(at)
  const first = stream[at]
  const length = Number(stream.slice(at + 1, end))
  if ((first !== '$' && first !== '=') || length < 0) return stream.slice(at, end + 2)
  return stream.slice(at, end + 2 + length + 2)
}

function aggregateAt(stream: string, at: number, header: string): Piece | undefined {
  const [, count] = /^[*>~](\d+)\r\n$/.exec(header) ?? []
  if (count === undefined || count === '0') return undefined
  const values: string[] = []
  let next = at + header.length
  for (let i = 0; i < Number(count) && next < stream.length; i++) {
    const value = tokenAt(stream, next)
    if (!/^[$:_]/.test(value)) return undefined
    values.push(value)
    next += value.length
  }
  if (values.length < Number(count)) return undefined
  const word = bulkText(values[0] ?? '')
  const bytes = stream.slice(at, next)
  if (CONFIRMATIONS.has(word)) return { kind: 'confirmation', bytes, word, values }
  if (MESSAGES.has(word)) return { kind: 'message', bytes, word, values }
  if (word === 'pong' || !values.every((value) => value.startsWith('$'))) return undefined
  return { kind: 'list', header, values }
}

/** The text of a bulk string's bytes. */
export function bulkText(bytes: string): string {
  return bytes.startsWith('$') ? bytes.slice(bytes.indexOf('\r\n') + 2, -2) : bytes
}

/** Bytes of a bulk string. */
export function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

/**
 * Gives sets an order: the names in a run of unsubscribe confirmations whose counts fall, pattern messages of one
 * publish, and flat lists of bulk strings. Redis promises none there.
 */
export function sortUnordered(stream: string): string {
  const pieces = cutReplies(stream)
  const out: string[] = []
  for (let i = 0; i < pieces.length;) {
    const run = runFrom(pieces, i)
    out.push(sortRun(run))
    i += run.length
  }
  return out.join('')
}

function runFrom(pieces: readonly Piece[], start: number): Piece[] {
  const run: Piece[] = []
  for (let i = start; i < pieces.length; i++) {
    const piece = pieces[i] as Piece
    const before = run.at(-1)
    if (before && !continues(before, piece)) break
    run.push(piece)
  }
  return run
}

function continues(before: Piece, piece: Piece): boolean {
  if (before.kind === 'confirmation' && piece.kind === 'confirmation') {
    if (before.word !== piece.word || before.word[0] === 's' || !before.word.includes('un')) {
      if (before.word !== piece.word || before.word !== 'sunsubscribe') return false
    }
    return countOf(piece) === countOf(before) - 1
  }
  if (before.kind === 'message' && piece.kind === 'message') {
    const [, , channel, payload] = before.values
    return (
      before.word === 'pmessage' &&
      piece.word === 'pmessage' &&
      piece.values[2] === channel &&
      piece.values[3] === payload
    )
  }
  return false
}

function countOf(piece: Piece): number {
  return piece.kind === 'confirmation' ? Number((piece.values[2] ?? '').slice(1)) : 0
}

function sortRun(run: readonly Piece[]): string {
  const [first] = run
  if (first === undefined) return ''
  if (first.kind === 'list') return first.header + first.values.toSorted().join('')
  if (run.length === 1 || first.kind === 'other') return run.map(bytesOf).join('')
  if (first.kind === 'message') return run.map(bytesOf).toSorted().join('')
  const header = first.bytes.slice(0, 4)
  const names = run
    .map((piece) => (piece.kind === 'confirmation' ? (piece.values[1] ?? '') : ''))
    .toSorted()
  return run
    .map((piece, i) =>
      piece.kind === 'confirmation'
        ? `${header}${piece.values[0] ?? ''}${names[i] ?? ''}${piece.values[2] ?? ''}`
        : '',
    )
    .join('')
}
