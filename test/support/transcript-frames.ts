/** A piece of a reply stream: a frame of Pub/Sub, a flat list of bulk strings, or any other line or bulk string. */
export interface Piece {
  readonly kind: 'confirmation' | 'message' | 'list' | 'other'
  /** `*3\r\n` or the like; for `other` the whole piece. */
  readonly header: string
  /** The values after the header, each with its own header. */
  readonly values: readonly string[]
}

const CONFIRMATIONS = new Set(
  ['subscribe', 'psubscribe', 'ssubscribe', 'unsubscribe', 'punsubscribe', 'sunsubscribe'].map(
    bulk,
  ),
)
const MESSAGES = new Set(['message', 'pmessage', 'smessage'].map(bulk))
const UNSUBSCRIBING = new Set(['unsubscribe', 'punsubscribe', 'sunsubscribe'].map(bulk))

/** Bytes of a bulk string. */
export function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

/** The bytes of a piece. */
export function bytesOf({ header, values }: Piece): string {
  return header + values.join('')
}

/**
 * Cuts a stream of replies into pieces without trusting the nesting: EXEC around SUBSCRIBE sends more values than its
 * header says. All pieces together are the stream.
 */
export function cutReplies(stream: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  while (at < stream.length) {
    const header = tokenAt(stream, at)
    at += header.length
    const values = flatValues(stream, at, header)
    for (const value of values) at += value.length
    pieces.push({ kind: kindOf(values), header, values })
  }
  return pieces
}

/** One line, or one bulk string whole. */
function tokenAt(stream: string, at: number): string {
  const end = stream.indexOf('\r\n', at)
  if (end < 0) return stream.slice(at)
  const length = Number(stream.slice(at + 1, end))
  if (!'$='.includes(stream.charAt(at)) || length < 0) return stream.slice(at, end + 2)
  return stream.slice(at, end + 2 + length + 2)
}

/** The values of an aggregate that holds only bulk strings, integers and nulls and is one of the known forms. */
function flatValues(stream: string, start: number, header: string): string[] {
  const [, digits] = /^[*>~](\d+)\r\n$/.exec(header) ?? []
  const count = Number(digits ?? 0)
  const values: string[] = []
  for (let at = start; values.length < count && at < stream.length;) {
    const value = tokenAt(stream, at)
    if (!'$:_'.includes(value.charAt(0))) return []
    values.push(value)
    at += value.length
  }
  return values.length === count && kindOf(values) !== 'other' ? values : []
}

function kindOf(values: readonly string[]): Piece['kind'] {
  const [word = '', , last = ''] = values
  if (values.length === 3 && CONFIRMATIONS.has(word) && last.startsWith(':')) return 'confirmation'
  if (MESSAGES.has(word)) return 'message'
  const isList = values.length > 0 && values.every((value) => value.startsWith('$'))
  return isList && word !== bulk('pong') ? 'list' : 'other'
}

/**
 * Gives sets an order where Redis promises none: the names in a run of unsubscribe confirmations whose counts fall, the
 * pattern messages of one publish, and flat lists of bulk strings.
 */
export function sortUnordered(stream: string): string {
  const pieces = cutReplies(stream)
  const out: string[] = []
  for (let at = 0; at < pieces.length;) {
    const run = runFrom(pieces, at)
    out.push(sortRun(run))
    at += run.length
  }
  return out.join('')
}

function runFrom(pieces: readonly Piece[], start: number): Piece[] {
  const run: Piece[] = []
  for (const piece of pieces.slice(start)) {
    const before = run.at(-1)
    if (before && !continuesUnsubscribing(before, piece) && !isOfOnePublish(before, piece)) break
    run.push(piece)
  }
  return run
}

function continuesUnsubscribing(before: Piece, piece: Piece): boolean {
  const [word = '', , count = ''] = piece.values
  if (piece.kind !== 'confirmation' || before.kind !== 'confirmation') return false
  if (!UNSUBSCRIBING.has(word) || before.values[0] !== word) return false
  return Number(count.slice(1)) === Number((before.values[2] ?? '').slice(1)) - 1
}

function isOfOnePublish(before: Piece, piece: Piece): boolean {
  const [word, , channel, payload] = piece.values
  if (word !== bulk('pmessage') || before.values[0] !== word) return false
  return before.values[2] === channel && before.values[3] === payload
}

function sortRun(run: readonly Piece[]): string {
  const [first] = run
  if (first === undefined) return ''
  if (first.kind === 'list') return first.header + first.values.toSorted().join('')
  if (first.kind !== 'confirmation') return run.map(bytesOf).toSorted().join('')
  const names = run.map(({ values }) => values[1] ?? '').toSorted()
  return run
    .map(({ header, values }, i) => [header, values[0], names[i], values[2]].join(''))
    .join('')
}
