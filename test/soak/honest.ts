import { WebSocket } from 'ws'
import { connectRaw, encodeCommand, type RawClient } from '../support/resp-client.ts'
import type { Target } from './peer.ts'
import type { Seats } from './processor.ts'
import { Pinger, type RoundTrip } from './round-trips.ts'

/** Time between two messages of a publisher, in ms. */
const PUBLISH_MS = 5

/** What was wrong for a client that did nothing wrong. */
export type Complaint = string

/** Clients that publish and count, and one that measures how long an answer takes. */
export class HonestClients {
  readonly complaints: Complaint[] = []
  readonly #subscribers: Subscriber[] = []
  readonly #publishers: Publisher[] = []
  readonly #timers: NodeJS.Timeout[] = []
  #pinger: Pinger | undefined

  /** Messages that were published so far. */
  get published(): number {
    return this.#publishers.reduce((sum, { next }) => sum + next, 0)
  }

  /** @param serverPid Of the server, whose waiting is no fault of its own. */
  async start(
    target: Target,
    token: string,
    serverPid: number | undefined,
    seats: Seats,
  ): Promise<void> {
    const url = `ws://127.0.0.1:${target.httpPort}/ws`
    const complain = (text: Complaint): void => void this.complaints.push(text)
    for (let at = 0; at < 3; at++)
      this.#subscribers.push(await Subscriber.overWebSocket(url, token, complain))
    for (let at = 0; at < 2; at++)
      this.#subscribers.push(await Subscriber.overTcp(target, complain))
    for (let at = 0; at < 2; at++)
      this.#publishers.push(await Publisher.open(at, target, url, token))
    for (const publisher of this.#publishers)
      this.#timers.push(setInterval(() => publisher.publish(), PUBLISH_MS))
    this.#pinger = await Pinger.start({ url, token, serverPid }, seats, complain)
  }

  /** Round trips of PINGs since the last call. */
  async takeRoundTrips(): Promise<readonly RoundTrip[]> {
    return (await this.#pinger?.take()) ?? []
  }

  /** Publishes no more, and waits until everybody has everything or it is certain that something is lost. */
  async finish(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    const deadlineMs = performance.now() + 10_000
    const isBehind = ({ counts }: Subscriber): boolean =>
      this.#publishers.some(({ id, next }) => (counts[id] ?? 0) < next)
    while (this.#subscribers.some(isBehind) && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (const [at, { counts }] of this.#subscribers.entries()) {
      for (const { id, next } of this.#publishers) {
        const got = counts[id] ?? 0
        if (got !== next)
          this.complaints.push(`subscriber ${at} has ${got} of ${next} messages of publisher ${id}`)
      }
    }
    this.#pinger?.close()
    for (const one of [...this.#subscribers, ...this.#publishers]) one.close()
  }
}

/** Opens a WebSocket and takes the push with which its session begins. */
export async function openWebSocket(url: string, token: string): Promise<WebSocket> {
  const webSocket = new WebSocket(url, ['resp3', `bearer.${token}`])
  webSocket.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    webSocket.once('message', () => resolve())
    webSocket.once('close', (code: number) => reject(new Error(`closed with ${code} at once`)))
  })
  webSocket.removeAllListeners('close')
  return webSocket
}

/** Counts the messages of each publisher, which bear numbers without gaps. */
class Subscriber {
  /** The number that is due, by publisher. */
  readonly counts: number[] = []
  readonly close: () => void
  #tail = ''

  private constructor(close: () => void) {
    this.close = close
  }

  static async overWebSocket(
    url: string,
    token: string,
    complain: (text: Complaint) => void,
  ): Promise<Subscriber> {
    const webSocket = await openWebSocket(url, token)
    const self = new Subscriber(() => webSocket.removeAllListeners('close').terminate())
    webSocket.on('message', (data) => self.#take((data as Buffer).toString('latin1'), complain))
    webSocket.once('close', (code: number) => complain(`a WebSocket was closed with ${code}`))
    const subscribed = new Promise((resolve) => void webSocket.once('message', resolve))
    webSocket.send(encodeCommand('SUBSCRIBE', 'honest'))
    await subscribed
    return self
  }

  static async overTcp(
    { respPort }: Target,
    complain: (text: Complaint) => void,
  ): Promise<Subscriber> {
    const client = await connectRaw(respPort)
    await client.subscribe('honest', 1, 2)
    let isOver = false
    const timer = setInterval(() => self.#take(client.takeAll(), complain), 10)
    const self = new Subscriber(() => {
      isOver = true
      clearInterval(timer)
      client.destroy()
    })
    void client.closed.then(() => {
      if (!isOver) complain('a TCP subscriber was closed')
    })
    return self
  }

  #take(text: string, complain: (text: Complaint) => void): void {
    const all = this.#tail + text
    let end = 0
    for (const match of all.matchAll(/<(\d+):(\d+)>/g)) {
      const [whole, publisher, number] = match
      const due = this.counts[Number(publisher)] ?? 0
      if (Number(number) !== due)
        complain(`message ${number} of publisher ${publisher} where ${due} was due`)
      this.counts[Number(publisher)] = Number(number) + 1
      end = match.index + whole.length
    }
    this.#tail = all.slice(end).slice(-64)
  }
}

/** Publishes numbers without gaps. */
class Publisher {
  readonly id: number
  readonly close: () => void
  next = 0
  readonly #send: (command: Buffer) => void

  private constructor(id: number, send: (command: Buffer) => void, close: () => void) {
    this.id = id
    this.#send = send
    this.close = close
  }

  /** Publisher 0 is a backend, all others are browsers. */
  static async open(
    id: number,
    { respPort }: Target,
    url: string,
    token: string,
  ): Promise<Publisher> {
    if (id > 0) {
      const webSocket = await openWebSocket(url, token)
      return new Publisher(
        id,
        (command) => webSocket.send(command),
        () => webSocket.terminate(),
      )
    }
    const client: RawClient = await connectRaw(respPort)
    return new Publisher(
      id,
      (command) => {
        client.takeAll()
        client.send(command)
      },
      () => client.destroy(),
    )
  }

  publish(): void {
    this.#send(encodeCommand('PUBLISH', 'honest', `<${this.id}:${this.next}>`))
    this.next++
  }
}
