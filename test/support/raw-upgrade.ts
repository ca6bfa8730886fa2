import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'

/** An upgrade request; what is left out is what a client without an Origin would send. */
export interface UpgradeRequest {
  readonly path?: string
  /** Replace or add to the usual headers; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Bytes that leave in the same segment as the request. */
  readonly early?: Buffer
}

/** The response to an upgrade request, and the socket under it. */
export interface UpgradedSocket {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** Everything after the response's header until now. */
  readonly received: () => Buffer
  /** Settles with all that came once the server has closed. */
  readonly ended: Promise<Buffer>
  write(bytes: Buffer): void
  destroy(): void
}

/** Sends an upgrade request over a plain socket and waits for the response's header. */
export async function openUpgrade(
  port: number,
  { path = '/ws', headers = {}, early }: UpgradeRequest = {},
): Promise<UpgradedSocket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const all: Record<string, string | undefined> = {
    Host: `127.0.0.1:${port}`,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...headers,
  }
  let text = `GET ${path} HTTP/1.1\r\n`
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined) text += `${name}: ${value}\r\n`
  }
  const head = Buffer.from(`${text}\r\n`, 'latin1')
  socket.write(early ? Buffer.concat([head, early]) : head)

  let bytes: Buffer = Buffer.alloc(0)
  let headEnd = -1
  let onHead: () => void = () => {}
  const headRead = new Promise<void>((resolve) => (onHead = resolve))
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    if (headEnd < 0) headEnd = bytes.indexOf('\r\n\r\n')
    if (headEnd >= 0) onHead()
  })
  socket.on('error', () => {})
  const body = (): Buffer => bytes.subarray(headEnd + 4)
  const ended = new Promise<Buffer>((resolve) => socket.once('close', () => resolve(body())))
  await Promise.race([headRead, ended])
  if (headEnd < 0) throw new Error('closed before a response')
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Map(
      lines.map((line) => {
        const at = line.indexOf(':')
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
      }),
    ),
    received: body,
    ended,
    write: (chunk) => void socket.write(chunk),
    destroy: () => socket.destroy(),
  }
}

/** Parts of a frame that a test may want to be wrong. */
export interface FrameOptions {
  /** RFC 6455 section 5.2: 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
  readonly opcode?: number
  readonly final?: boolean
  /** RSV1 to RSV3 as the bits 0x40, 0x20, 0x10. */
  readonly reserved?: number
  readonly masked?: boolean
}

/** A frame as a client sends it (RFC 6455 section 5.2). */
export function clientFrame(payload: Buffer | string, options: FrameOptions = {}): Buffer {
  const { opcode = 2, final = true, reserved = 0, masked = true } = options
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload
  const length = bytes.length
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const header = Buffer.alloc(size)
  header[0] = (final ? 0x80 : 0) | reserved | opcode
  header[1] = (masked ? 0x80 : 0) | (size === 2 ? length : size === 4 ? 126 : 127)
  if (size === 4) header.writeUInt16BE(length, 2)
  if (size === 10) header.writeBigUInt64BE(BigInt(length), 2)
  if (!masked) return Buffer.concat([header, bytes])
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78])
  const hidden = Buffer.from(bytes)
  for (let i = 0; i < length; i++) hidden[i] = (hidden[i] as number) ^ (mask[i % 4] as number)
  return Buffer.concat([header, mask, hidden])
}

/** A frame that a server sent. */
export interface ServerFrame {
  readonly opcode: number
  readonly payload: Buffer
}

/** The whole frames in what a server sent; what follows the last one is left out. */
export function serverFrames(received: Buffer): ServerFrame[] {
  const frames: ServerFrame[] = []
  for (let at = 0; at + 1 < received.length;) {
    const opcode = (received[at] as number) & 0x0f
    const short = (received[at + 1] as number) & 0x7f
    const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10)
    if (start > received.length) break
    const length =
      short < 126
        ? short
        : short === 126
          ? received.readUInt16BE(at + 2)
          : Number(received.readBigUInt64BE(at + 2))
    if (start + length > received.length) break
    frames.push({ opcode, payload: received.subarray(start, start + length) })
    at = start + length
  }
  return frames
}

/**
 * The code of the first close frame in what a server sent: 1005 if it has none (RFC 6455 section 7.1.5), undefined if
 * there is no close frame.
 */
export function closeCode(received: Buffer): number | undefined {
  const close = serverFrames(received).find(({ opcode }) => opcode === 8)
  if (!close) return undefined
  return close.payload.length >= 2 ? close.payload.readUInt16BE(0) : 1005
}
