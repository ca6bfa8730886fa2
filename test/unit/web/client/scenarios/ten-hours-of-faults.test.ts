/** Ten hours in the life of a client, with everything going wrong that can. */
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { RespcastClient } from '../../../../../web/client/client.ts'
import type { OpenSocket } from '../../../../../web/client/environment.ts'
import { settingsOf } from '../../../../../web/client/options.ts'
import type { Subscription } from '../../../../../web/client/types.ts'
import { settle } from '../support/fake-server.ts'
import { openerOf } from '../support/fake-tabs.ts'
import { LivingServer } from '../support/living-server.ts'

const HOURS = 10
const NAMES = Array.from({ length: 12 }, (_, at) => `room:${at}`)

/** Numbers from 0 up to 1 that are the same for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A subscription, and whether what it tells is true. */
class Witness {
  readonly subscription: Subscription
  readonly controller = new AbortController()
  wasDenied = false
  received = 0
  #last: number | undefined
  #mayMiss = false

  constructor(client: RespcastClient, name: string, faults: string[]) {
    const { signal } = this.controller
    this.subscription = client.subscribe(
      name,
      (message) => {
        const number = Number(message.text())
        const isNext = this.#last === undefined || number === this.#last + 1
        const isAllowed = isNext || (this.#mayMiss && number > (this.#last ?? 0))
        if (!isAllowed) faults.push(`${name}: ${number} after ${this.#last} without a gap`)
        this.#last = number
        this.#mayMiss = false
        this.received++
      },
      { signal },
    )
    this.subscription.addEventListener('gap', () => {
      this.#mayMiss = true
    })
    this.subscription.addEventListener('denied', () => {
      this.wasDenied = true
    })
  }
}

class Life {
  readonly random: () => number
  readonly server: LivingServer
  readonly faults: string[] = []
  readonly clients: RespcastClient[]
  readonly controller = new AbortController()
  witnesses: Witness[] = []
  received = 0
  /** Reports of each kind. */
  readonly counts = { gap: 0, denied: 0, online: 0, error: 0 }

  constructor(seed: number, tabs: number) {
    this.random = seeded(seed)
    this.server = new LivingServer(this.random)
    const shared: OpenSocket | undefined =
      tabs > 1 ? openerOf(this.server.environment().clock, this.server.openSocket) : undefined
    const settings = settingsOf({
      token: this.server.provider,
      signal: this.controller.signal,
      ...(shared ? { share: 'tabs' as const } : {}),
    })
    this.clients = Array.from(
      { length: tabs },
      () => new RespcastClient('ws://fake/ws', settings, this.server.environment(shared)),
    )
    for (const client of this.clients) {
      client.on('gap', () => this.counts.gap++)
      client.on('denied', () => this.counts.denied++)
      client.on('error', () => this.counts.error++)
      client.on('state', ({ status }) => {
        if (status === 'online') this.counts.online++
      })
    }
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.random() * items.length)] as Item
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      if (this.random() < 0.3) this.server.publish(this.pick(NAMES))
      this.server.clock.advance(Math.min(left, 500))
      await settle()
      const open = this.server.open.filter(({ isDead }) => !isDead).length
      if (open > 1) this.faults.push(`${open} sockets are open`)
    }
  }

  /** One thing that happens. */
  readonly events: readonly (() => void | Promise<void>)[] = [
    () => this.end(1006, ''),
    () => this.end(4500, 'server-error||'),
    () => this.end(4429, 'rate-limited|1000|'),
    () => this.end(4450, 'slow-consumer||'),
    () => this.end(4408, 'auth-timeout||'),
    () => this.server.open.forEach(({ socket, isDead }) => isDead || socket.receive('?\r\n')),
    () => this.server.cut(),
    () => this.server.revoke(),
    () => this.server.forbid(this.pick(NAMES), true),
    () => this.server.forbid(this.pick(NAMES), false),
    () => void this.server.forbidden.delete(this.pick(NAMES)),
    () => void this.server.forbidden.delete(this.pick(NAMES)),
    async () => {
      this.end(4503, 'draining|3000|')
      this.server.isUp = false
      await this.pass(1000 + this.random() * 20_000)
      this.server.isUp = true
    },
    async () => {
      this.server.cut()
      this.server.isSilent = true
      await this.pass(1000 + this.random() * 60_000)
      this.server.isSilent = false
      this.server.cut()
    },
    async () => {
      this.server.isOffline = true
      this.server.cut()
      this.server.wake()
      await this.pass(1000 + this.random() * 60_000)
      this.server.isOffline = false
      this.server.wake()
    },
    async () => {
      this.server.providerFails = true
      await this.pass(1000 + this.random() * 60_000)
      this.server.providerFails = false
    },
    () => {
      // Asleep for up to an hour; without an event every second time.
      if (this.random() < 0.7) this.server.cut()
      this.server.clock.stepWall(this.random() * 3_600_000)
      if (this.random() < 0.5) this.server.wake()
    },
    () => this.server.wake(),
    () => this.join(),
    () => this.join(),
    () => this.join(),
    () => this.leave(),
    () => this.leave(),
    () =>
      void this.pick(this.clients)
        .publish('room:0', 'x')
        .catch(() => undefined),
  ]

  end(code: number, reason: string): void {
    for (const connection of this.server.open) this.server.close(connection, code, reason)
  }

  join(): void {
    if (this.witnesses.length > 40) return
    this.witnesses.push(new Witness(this.pick(this.clients), this.pick(NAMES), this.faults))
  }

  leave(): void {
    const witness = this.pick(this.witnesses)
    if (!witness) return
    if (this.random() < 0.5) witness.controller.abort()
    else void witness.subscription.unsubscribe()
  }

  /** After a while without faults every subscription is live, or was reported. */
  async check(): Promise<void> {
    await this.pass(120_000)
    for (const { state } of this.clients) {
      if (state.status !== 'online') this.faults.push(JSON.stringify(state))
    }
    const [connection] = this.server.open.filter(({ isDead }) => !isDead)
    const kept: Witness[] = []
    for (const witness of this.witnesses) {
      const { name, status } = witness.subscription
      const isHeard = connection?.names.has(name) ?? false
      if (status === 'ended') {
        this.received += witness.received
        const left = getEventListeners(witness.controller.signal, 'abort').length
        if (left > 0) this.faults.push(`${name} left a listener on its signal`)
        continue
      }
      kept.push(witness)
      const isTrue = status === 'live' ? isHeard : status === 'denied' && witness.wasDenied
      if (!isTrue) this.faults.push(`${name} says ${status}; on the server: ${isHeard}`)
    }
    this.witnesses = kept
    const wanted = new Set(kept.map(({ subscription }) => subscription.name))
    for (const name of connection?.names ?? []) {
      if (!wanted.has(name)) this.faults.push(`${name} was left, and is still subscribed`)
    }
    // Per client: the pulse, and the timer of the connection.
    const { clientTimers } = this.server
    if (clientTimers > 2 * this.clients.length) this.faults.push(`${clientTimers} timers`)
  }

  async live(): Promise<void> {
    const { clock } = this.server
    const endMs = clock.monotonicMs() + HOURS * 3_600_000
    while (clock.monotonicMs() < endMs && this.faults.length === 0) {
      for (let at = 0; at < 20; at++) {
        await this.pick(this.events)()
        await this.pass(this.random() * 20_000)
      }
      await this.check()
    }
  }
}

describe('ten hours of faults', () => {
  test.each([
    ['one client', 1, 1],
    ['one client, other faults', 2, 1],
    ['three tabs that share a connection', 3, 3],
  ])(
    '%s: no message is missed or repeated without a word, and nothing leaks',
    async (_name, seed, tabs) => {
      const life = new Life(seed, tabs)
      const { server, clients, counts, controller } = life
      await life.live()
      expect(life.faults).toEqual([])
      // The faults were there, and the messages as well.
      expect(counts.online).toBeGreaterThan(100)
      expect(counts.gap).toBeGreaterThan(100)
      expect(counts.denied).toBeGreaterThan(20)
      expect(life.received).toBeGreaterThan(500)

      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(tabs)
      controller.abort()
      await settle()
      expect(clients.map(({ state }) => state.status)).toEqual(clients.map(() => 'closed'))
      expect(server.clientTimers).toBe(0)
      expect(server.wakeListeners.size).toBe(0)
      expect(server.open).toEqual([])
      expect(getEventListeners(controller.signal, 'abort')).toEqual([])
      for (const { subscription } of life.witnesses) expect(subscription.status).toBe('ended')
    },
    60_000,
  )
})
