import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import {
  forgetAddresses,
  readAsStream,
  readHead,
  SharedReadBuffer,
  SocketSink,
  type ByteReader,
} from '../../../server/transport/raw-socket.ts'

const opened: (Server | Socket)[] = []

afterEach(() => {
  for (const one of opened.splice(0)) {
    if ('destroy' in one) one.destroy()
    else one.close()
  }
})

/** Keeps copies of what a socket reads, and lets tests wait for it. */
class Recorder implements ByteReader {
  bytes = ''
  lent = 0
  ended = false
  closed = false
  #check = (): void => {}

  receive(chunk: Buffer): void {
    this.bytes += chunk.toString('latin1')
    this.#check()
  }

  receiveLent(chunk: Buffer): void {
    this.lent++
    this.receive(chunk)
  }

  peerEnded(): void {
    this.ended = true
    this.#check()
  }

  peerClosed(): void {
    this.closed = true
    this.#check()
  }

  /** Settles once `isReached` is true. */
  until(isReached: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#check = () => {
        if (isReached()) resolve()
      }
      this.#check()
    })
  }
}

/** A connection over loopback: the server's end read and written by the parts under test, the peer's end an ordinary socket. */
async function pair(isRaw: boolean) {
  const reads = new SharedReadBuffer()
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true })
  opened.push(server)
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const peer = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  peer.setNoDelay(true)
  opened.push(peer)
  const { socket, start } = reads.readInto(await accepted, isRaw)
  opened.push(socket)
  socket.on('error', () => socket.destroy())
  const reader = new Recorder()
  let writable = 0
  const sink = new SocketSink(socket, undefined, isRaw)
  sink.writer = { onWritable: () => writable++ }
  start(reader)
  return { socket, peer, reader, sink, start, writable: () => writable }
}

/** Reads the peer's end until it holds so many bytes. */
function read(peer: Socket, bytes: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    peer.on('data', (chunk) => {
      chunks.push(chunk)
      length += chunk.length
      if (length >= bytes) resolve(Buffer.concat(chunks))
    })
  })
}

/** More than the kernel's buffers on both sides take. */
const LARGE = Buffer.alloc(16_777_216, 'x')

describe.each([
  ['raw', true],
  ['as a stream', false],
])('A socket that is read and written %s', (_name, isRaw) => {
  test('hands over what arrives, cut anywhere, in order', async () => {
    const { peer, reader } = await pair(isRaw)
    let expected = ''
    for (const length of [1, 2, 1, 700, 65_536, 3, 65_537, 200_000, 1]) {
      const chunk = String.fromCharCode(97 + (expected.length % 26)).repeat(length)
      expected += chunk
      peer.write(chunk)
      if (length < 10) await new Promise((resolve) => setImmediate(resolve))
    }
    await reader.until(() => reader.bytes.length >= expected.length)
    expect(reader.bytes === expected).toBe(true)
    expect(reader.lent > 0).toBe(isRaw)
  })

  test('goes on with another reader, from where the first one stopped it', async () => {
    const { peer, reader, sink, start } = await pair(isRaw)
    peer.write('first')
    await reader.until(() => reader.bytes === 'first')
    sink.pause()
    peer.end('second')
    const other = new Recorder()
    start(other)
    sink.resume()
    await other.until(() => other.ended)
    sink.end(undefined)
    await other.until(() => other.closed)
    expect([reader.bytes, other.bytes, reader.ended, reader.closed]).toEqual([
      'first',
      'second',
      false,
      false,
    ])
  })

  test('writes after the peer has half closed', async () => {
    const { peer, reader, sink, socket } = await pair(isRaw)
    peer.end('last')
    await reader.until(() => reader.ended)
    expect([reader.bytes, reader.closed]).toEqual(['last', false])
    const answer = read(peer, 6)
    expect(sink.write([Buffer.from('answer')])).toBe(true)
    expect((await answer).toString()).toBe('answer')
    sink.end(undefined)
    await reader.until(() => reader.closed)
    expect(socket.destroyed).toBe(true)
  })

  test('puts several buffers in one write, in order', async () => {
    const { peer, sink } = await pair(isRaw)
    const answer = read(peer, 11)
    expect(sink.write(['one', ',', 'two', ',', 'end'].map((text) => Buffer.from(text)))).toBe(true)
    expect(sink.pendingBytes).toBe(0)
    expect((await answer).toString()).toBe('one,two,end')
  })

  test('tells once when the kernel has taken what it had not taken at once', async () => {
    const { peer, sink, writable } = await pair(isRaw)
    peer.pause()
    const most = { length: LARGE.length + 4 }
    expect(sink.write([Buffer.from('head'), LARGE])).toBe(false)
    expect([sink.pendingBytes, writable()]).toEqual([most.length, 0])
    const answer = read(peer, most.length)
    peer.resume()
    const bytes = await answer
    expect(bytes.subarray(0, 4).toString()).toBe('head')
    expect(bytes.subarray(4).equals(LARGE)).toBe(true)
    await expect.poll(writable).toBe(1)
    expect(sink.pendingBytes).toBe(0)
    const more = read(peer, 4)
    expect(sink.write([Buffer.from('more')])).toBe(true)
    expect((await more).toString()).toBe('more')
    expect(writable()).toBe(1)
  })

  test('reads nothing while it is paused', async () => {
    const { peer, reader, sink } = await pair(isRaw)
    peer.write('a')
    await reader.until(() => reader.bytes === 'a')
    sink.pause()
    peer.write('b')
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(reader.bytes.length).toBeLessThanOrEqual(isRaw ? 2 : 1)
    sink.resume()
    await reader.until(() => reader.bytes === 'ab')
  })

  test('is over after an error of the peer, and nobody is told that it is writable', async () => {
    const { peer, reader, sink, writable } = await pair(isRaw)
    peer.pause()
    expect(sink.write([LARGE])).toBe(false)
    peer.resetAndDestroy()
    await reader.until(() => reader.closed)
    expect(writable()).toBe(0)
    expect(sink.write([Buffer.from('late')])).toBe(true)
  })

  test('takes writes to a destroyed socket, and drops them', async () => {
    const { reader, sink, socket } = await pair(isRaw)
    sink.terminate()
    expect(socket.destroyed).toBe(true)
    expect(sink.write([Buffer.from('a')])).toBe(true)
    expect(sink.write([Buffer.from('a'), Buffer.from('b')])).toBe(true)
    await reader.until(() => reader.closed)
  })
})

describe('An accepted socket', () => {
  test('is read raw where the runtime allows it', async () => {
    const { socket, peer } = await pair(true)
    const reader = new Recorder()
    new SharedReadBuffer().readInto(socket).start(reader)
    peer.write('a')
    await reader.until(() => reader.bytes === 'a')
    expect(reader.lent).toBe(1)
  })

  test('whose first bytes were read is given back as if they had never come', async () => {
    const server = createServer({ pauseOnConnect: true })
    opened.push(server)
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    const peer = connect((server.address() as AddressInfo).port)
    opened.push(peer)
    peer.write('head and ')
    const socket = await accepted
    opened.push(socket)
    const head = readHead(socket)
    const first = new Recorder()
    head.start(first)
    await first.until(() => first.bytes === 'head and ')
    head.giveBack(Buffer.from('and '))
    peer.end('body')
    const second = new Recorder()
    readAsStream(socket).start(second)
    await second.until(() => second.ended)
    expect([first.bytes, second.bytes]).toEqual(['head and ', 'and body'])
  })

  test('without a handle is read as a stream', async () => {
    const socket = connect({ port: 1, host: '127.0.0.1' }).on('error', () => {})
    socket.destroy()
    const reader = new Recorder()
    new SharedReadBuffer().readInto(socket).start(reader)
    await reader.until(() => reader.closed)
    expect([reader.bytes, reader.lent]).toEqual(['', 0])
  })

  test('that forgets its addresses finds them out again, and holds none once it is destroyed', async () => {
    const { socket, peer } = await pair(true)
    const before = [socket.remoteAddress, socket.remotePort, socket.localPort]
    forgetAddresses(socket)
    expect([socket.remoteAddress, socket.remotePort, socket.localPort]).toEqual(before)
    expect(socket.remotePort).toBe(peer.localPort)
    forgetAddresses(socket)
    socket.destroy()
    expect([socket.remoteAddress, socket.localPort]).toEqual([undefined, undefined])
  })
})
