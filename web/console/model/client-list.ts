/** One client of CLIENT LIST. Texts are for display; missing fields are empty. */
export interface ConnectionRow {
  readonly id: string
  readonly address: string
  readonly name: string
  readonly user: string
  readonly ageSeconds: number
  readonly idleSeconds: number
  /** Bytes of the output queue. */
  readonly queuedBytes: number
  readonly memoryBytes: number
  readonly subscriptions: number
  readonly command: string
  readonly protocol: string
  /** Origin of the page that opened a WebSocket. */
  readonly origin: string
  /** `websocket`, `tcp`, `unix`; empty if the server does not say. */
  readonly transport: string
  readonly tokenSubject: string
  /** Milliseconds since 1970; undefined where no token logged in. */
  readonly tokenEndsAtMs: number | undefined
  /** The line itself. */
  readonly line: string
}

/** Reads the reply of CLIENT LIST. */
export function parseClientList(text: string): readonly ConnectionRow[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseClient(line))
}

/** Reads one line of CLIENT LIST. */
export function parseClient(line: string): ConnectionRow {
  const fields = clientFields(line)
  const text = (name: string): string => fields.get(name) ?? ''
  const number = (name: string): number => Number(fields.get(name) ?? 0)
  const tokenEnd = number('jwt-exp')
  return {
    id: text('id'),
    address: text('addr'),
    name: text('name'),
    user: text('user'),
    ageSeconds: number('age'),
    idleSeconds: number('idle'),
    queuedBytes: number('omem') + number('obl'),
    memoryBytes: number('tot-mem'),
    subscriptions: number('sub') + number('psub') + number('ssub'),
    command: text('cmd'),
    protocol: `RESP${text('resp')}`,
    origin: text('origin'),
    transport: text('transport'),
    tokenSubject: text('jwt-sub'),
    tokenEndsAtMs: tokenEnd > 0 ? tokenEnd * 1000 : undefined,
    line,
  }
}

/** All fields of a line of CLIENT LIST, in order; escapes (`\xNN`) are undone. */
export function clientFields(line: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const part of line.split(' ')) {
    const equals = part.indexOf('=')
    if (equals > 0) fields.set(part.slice(0, equals), unescapeField(part.slice(equals + 1)))
  }
  return fields
}

function unescapeField(value: string): string {
  if (!value.includes('\\')) return value
  return value.replaceAll(/\\x([0-9a-f]{2})/g, (_escape, digits: string) => {
    return String.fromCharCode(Number.parseInt(digits, 16))
  })
}
