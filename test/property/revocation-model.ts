import { join } from 'node:path'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, expect } from 'vitest'
import { compileGlob } from '../../shared/glob.ts'
import type { Client } from '../../server/client/client.ts'
import type { Revocation } from '../../server/token/revoke/revocation.ts'
import { payloadOf } from '../../server/delivery/segment.ts'
import { command, TestCore, type TestClient } from '../support/test-core.ts'
import { folderWith } from '../support/folder.ts'
import { jwks, makeKey, NOW, payload, tokenBy, type TestKey } from '../support/tokens.ts'

/** A token as the model knows it. */
export interface ModelToken {
  readonly sub: string
  readonly jti: string
  readonly group: string
  readonly role: string
  /** The key that signs it. */
  readonly key: string
  readonly iat: number
  readonly text: string
}

/** A revocation as the model knows it; `repliedAt` is set when its reply was read. */
interface ModelRevocation {
  readonly kind: string
  readonly target: string
  readonly scope: { readonly kind: 'sub' | 'role' | 'group'; readonly name: string } | undefined
  readonly orderedAt: number
  readonly beforeMs: number
  /** Those who held a subscription then by which one of its channels came to them. */
  readonly reached: ReadonlySet<Slot>
  repliedAt: number | undefined
  lifted: boolean
}

interface Slot {
  readonly test: TestClient
  token: ModelToken | undefined
  loggedInAt: number
}

function isReached({ test }: Slot, target: string): boolean {
  const { subscriptions } = test.client
  const globs = [...subscriptions.names('pattern').keys()].map((name) => compileGlob(name))
  return CHANNELS.some(
    (channel) =>
      compileGlob(target).matches(channel) &&
      (subscriptions.names('channel').has(channel) || globs.some((glob) => glob.matches(channel))),
  )
}

const first = makeKey('EdDSA', 'k1')
const second = makeKey('EdDSA', 'k2')

/** The keys of the tokens, by their thumbprints: the first has two ids in its set. */
const KEYS = new Map(
  await Promise.all(
    [first, second].map(async (key) => [await calculateJwkThumbprint(key.jwk), key] as const),
  ),
)
const KEY_SET = join(
  folderWith({ 'keys.json': jwks(first, second, { ...first.jwk, kid: 'k3' }) }, afterAll),
  'keys.json',
)

/** The words of TOKEN REVOKE that name a key, and the thumbprints of those that are meant. */
export const KEY_ORDERS: readonly (readonly [kind: 'KID' | 'KEY', target: string])[] = [
  ...['k1', 'k2', 'k3'].map((kid) => ['KID', kid] as const),
  ...[...KEYS.keys()].map((thumbprint) => ['KEY', thumbprint] as const),
]

/** Signers of tokens: each key, with an id in the header that its set has for it, or without one. */
export const SIGNERS: readonly (readonly [thumbprint: string, kid: string | undefined])[] = [
  ...KEYS,
].flatMap(([thumbprint, key]) =>
  (key === first ? ['k1', 'k3', undefined] : ['k2', undefined]).map(
    (kid) => [thumbprint, kid] as const,
  ),
)

function isOf(kid: string, thumbprint: string): boolean {
  return KEYS.get(thumbprint) === (kid === 'k2' ? second : first)
}

export const CHANNELS = ['a', 'ab', 'b'] as const
export const PATTERNS = ['a*', '*', 'b'] as const
const SLOTS = 4

/**
 * A server with token sessions on blockable sockets, and beside it a record of every publish, write, revocation and reply, in
 * the order in which they happened. What waits (a verification, the disk) goes on when the run says so.
 */
export class Checker {
  readonly server: TestCore
  readonly #slots: (Slot | undefined)[] = Array.from({ length: SLOTS }, () => undefined)
  readonly #revocations: ModelRevocation[] = []
  readonly #gates: (() => void)[] = []
  readonly #pending: Promise<unknown>[] = []
  readonly #published = new Map<string, { readonly channel: string; readonly at: number }>()
  #now = 0
  #tokens = 0

  constructor(mode: 'close' | 'unsubscribe') {
    this.server = new TestCore(
      {
        'jwt-jwks-file': KEY_SET,
        'jwt-algorithms': 'EdDSA',
        'min-string-size-avoid-copy-reply': '6',
        'ws-revocation': mode,
      },
      undefined,
      {},
    )
    const { login, tokens } = this.server
    const verify = login.verify.bind(login)
    // Others get their turn before a verification has ended, and again before anything is done about it.
    login.verify = async (client, text) => {
      await this.#gate()
      const result = await verify(client, text)
      await this.#gate()
      return result
    }
    tokens.revocations.commit = () => this.#gate().then(() => true)
  }

  /** Loads the keys. */
  start(): Promise<void> {
    return this.server.authenticator.issuers.start()
  }

  /** Lets a number of things that wait go on. */
  async settle(count: number): Promise<void> {
    for (const open of this.#gates.splice(0, count)) open()
    for (let i = 0; i < 12; i++) await Promise.resolve()
    // Signatures are checked on another thread.
    await new Promise((resolve) => void setImmediate(resolve))
    this.#check()
  }

  login(slot: number, token: ModelToken, transport: 'websocket' | 'tcp', protocol: 2 | 3): void {
    let at = this.#slots[slot]
    if (!at || at.test.client.closed) {
      const test = this.server.connect({ transport, protocol: transport === 'tcp' ? protocol : 3 })
      at = { test, token: undefined, loggedInAt: 0 }
      this.#slots[slot] = at
      this.#watch(at)
    }
    at.test.write(command('AUTH', 'jwt', token.text))
  }

  send(slot: number, ...words: string[]): void {
    this.#slots[slot]?.test.write(command(...words))
    this.#check()
  }

  block(slot: number, blocks: boolean): void {
    const test = this.#slots[slot]?.test
    if (!test) return
    test.sink.blocks = blocks
    if (blocks) return
    test.sink.drain()
    test.client.output.onWritable()
  }

  endTurn(): void {
    this.server.turn.end()
    this.#check()
  }

  /** A message whose payload names it. Its receivers are those who hold a subscription that is not taken away. */
  publish(channel: string, large: boolean): void {
    const id = `p${this.#published.size}~`
    this.#published.set(id, { channel, at: ++this.#now })
    let receivers = 0
    for (const client of this.server.clients.all()) {
      const slot = this.#note(client)
      if (slot && this.#isDenied(slot, channel, this.#now, false)) continue
      if (client.subscriptions.names('channel').has(channel)) receivers++
      for (const pattern of client.subscriptions.names('pattern').keys()) {
        if (compileGlob(pattern).matches(channel)) receivers++
      }
    }
    const bytes = Buffer.from(large ? id.padEnd(40, 'x') : id)
    const given = this.server.registry.publish('channel', channel, payloadOf(bytes))
    expect(given).toBe(receivers)
  }

  revoke(words: readonly string[], scope?: ModelRevocation['scope']): void {
    const [kind = '', target = ''] = words
    const model: ModelRevocation = {
      kind: kind.toLowerCase(),
      target,
      scope,
      orderedAt: ++this.#now,
      beforeMs: this.server.clock.wallMs() + 5_000,
      reached: new Set(this.#slots.filter((slot) => slot && isReached(slot, target))) as Set<Slot>,
      repliedAt: undefined,
      lifted: false,
    }
    const read = this.server.tokens.revocation.read(words)
    if ('error' in read) throw new Error(read.error)
    this.#revocations.push(model)
    const done = this.server.tokens.revocation.revoke(read.order, { user: 'admin', address: '' })
    this.#pending.push(done.then(() => (model.repliedAt = ++this.#now)))
  }

  /** Takes the oldest revocation in force back. */
  unrevoke(): void {
    const [record]: Revocation[] = [...this.server.tokens.revocations.list()]
    if (!record) return
    const model = this.#revocations[record.id - 1]
    if (model) model.lifted = true
    const lifted = this.server.tokens.revocation.unrevoke(record.id, { user: 'a', address: '' })
    if (lifted) this.#pending.push(lifted.done)
  }

  mint(
    sub: string,
    group: string,
    role: string,
    [key, kid] = SIGNERS[0] as (typeof SIGNERS)[number],
  ): ModelToken {
    const iat = Math.floor(this.server.clock.wallMs() / 1000)
    const jti = `t${this.#tokens++}`
    const grants = { channels: [...CHANNELS, ...PATTERNS], group, roles: [role] }
    const body = payload({ respcast: grants, sub, jti, iat, exp: NOW + 50_000 })
    const text = tokenBy(KEYS.get(key) as TestKey, body, { kid })
    return { sub, jti, group, role, key, iat, text }
  }

  /** Everything that waits goes on, every socket takes what it is given. */
  async finish(): Promise<void> {
    while (this.#gates.length > 0) await this.settle(1)
    await Promise.all(this.#pending)
    for (let slot = 0; slot < SLOTS; slot++) this.block(slot, false)
    this.endTurn()
  }

  #gate(): Promise<void> {
    return new Promise((resolve) => this.#gates.push(resolve))
  }

  /** Judges each write at the moment at which the socket is given it. */
  #watch(slot: Slot): void {
    const { sink } = slot.test
    const write = sink.write.bind(sink)
    sink.write = (buffers) => {
      const text = Buffer.concat(buffers).toString('latin1')
      for (const [id] of text.matchAll(/p\d+~/g)) {
        const { channel, at } = this.#published.get(id) as { channel: string; at: number }
        expect(this.#isDenied(slot, channel, at, true), `${id} was delivered`).toBe(false)
      }
      return write(buffers)
    }
  }

  /** No session lives, and no subscription stands, that a revocation which was answered takes away. */
  #check(): void {
    for (const client of this.server.clients.all()) {
      const slot = this.#note(client)
      if (!slot?.token) continue
      for (const revocation of this.#revocations) {
        if (revocation.repliedAt === undefined || revocation.lifted) continue
        expect(this.#ends(revocation, slot), `a session outlives ${revocation.kind}`).toBe(false)
        for (const name of client.subscriptions.names('channel').keys()) {
          expect(this.#takes(revocation, slot.token, name), `subscribed to ${name}`).toBe(false)
        }
      }
    }
  }

  /** Learns from the server who a live client is now; one that is closed stays who it was. */
  #note(client: Client): Slot | undefined {
    const slot = this.#slots.find((one) => one?.test.client === client)
    const grant = this.server.tokens.grantOf(client)
    if (!slot || client.closed || slot.token?.jti === grant?.jti) return slot
    slot.loggedInAt = ++this.#now
    slot.token = grant && {
      sub: grant.sub,
      jti: grant.jti ?? '',
      group: grant.group ?? '',
      role: grant.roles[0] ?? '',
      key: grant.key.thumbprint,
      iat: grant.issuedAtMs / 1000,
      text: '',
    }
    return slot
  }

  /**
   * Reports whether a message that was published at some time may not be given to a client.
   *
   * @param answered Only by revocations that have been answered; else by all that were ordered.
   */
  #isDenied(slot: Slot, channel: string, publishedAt: number, answered: boolean): boolean {
    this.#note(slot.test.client)
    const { token } = slot
    if (!token) return false
    return this.#revocations.some((revocation) => {
      if (revocation.lifted || (answered && revocation.repliedAt === undefined)) return false
      // A message queued before, for a subscription that was given up before, belongs to no revoked subscription.
      const counts = publishedAt > revocation.orderedAt || revocation.reached.has(slot)
      return (counts && this.#takes(revocation, token, channel)) || this.#ends(revocation, slot)
    })
  }

  #ends(revocation: ModelRevocation, { token, loggedInAt }: Slot): boolean {
    const { kind, target, beforeMs, orderedAt } = revocation
    if (!token || kind === 'channel') return false
    const named =
      kind === 'all' ||
      (kind === 'kid'
        ? isOf(target, token.key)
        : token[kind as 'sub' | 'jti' | 'group' | 'role' | 'key'] === target)
    if (!named) return false
    const forever = kind === 'jti' || kind === 'kid' || kind === 'key'
    return loggedInAt < orderedAt || forever || token.iat * 1000 <= beforeMs
  }

  #takes({ kind, target, scope }: ModelRevocation, token: ModelToken, channel: string): boolean {
    if (kind !== 'channel' || !compileGlob(target).matches(channel)) return false
    return !scope || token[scope.kind] === scope.name
  }
}
