import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Client } from '../../server/client/client.ts'
import { Registry } from '../../server/pubsub/registry.ts'
import { Login } from '../../server/client/login.ts'
import { Output } from '../../server/delivery/output.ts'
import { Segment } from '../../server/delivery/segment.ts'
import { RevokedChannels } from '../../server/token/revoke/channels.ts'
import { Enforcement } from '../../server/token/revoke/enforcement.ts'
import { RevocationTable } from '../../server/token/revoke/table.ts'
import { SessionIndex } from '../../server/token/revoke/targets.ts'
import { TrustedIssuers } from '../../server/token/verify/trusted-issuers.ts'
import { CHANNELS, Checker, KEY_ORDERS, PATTERNS, SIGNERS } from './revocation-model.ts'

const RUNS = Number(process.env['RESPCAST_CHECKER_RUNS'] ?? 300)

type Step = (checker: Checker) => void | Promise<void>

const slot = fc.nat(3)
const sub = fc.constantFrom('s0', 's1')
const group = fc.constantFrom('g0', 'g1')
const role = fc.constantFrom('r0', 'r1')
const channel = fc.constantFrom(...CHANNELS)
const target = fc.constantFrom('a', 'a*', 'ab', '*')

const login = fc
  .tuple(
    slot,
    sub,
    group,
    role,
    fc.constantFrom(...SIGNERS),
    fc.constantFrom('websocket', 'tcp'),
    fc.constantFrom(2, 3),
  )
  .map(([at, ...who]): Step => {
    const [subject, itsGroup, itsRole, signer, transport, protocol] = who
    return (checker) => {
      checker.login(at, checker.mint(subject, itsGroup, itsRole, signer), transport, protocol)
    }
  })

const subscribe = fc
  .tuple(
    slot,
    fc.oneof(
      channel.map((name) => ['SUBSCRIBE', name]),
      fc.constantFrom(...PATTERNS).map((name) => ['PSUBSCRIBE', name]),
    ),
  )
  .map(
    ([at, words]): Step =>
      (checker) =>
        checker.send(at, ...words),
  )

const scope = fc.oneof(
  sub.map((name) => ({ kind: 'sub' as const, name })),
  role.map((name) => ({ kind: 'role' as const, name })),
  group.map((name) => ({ kind: 'group' as const, name })),
)

const revoke = fc.oneof(
  sub.map(
    (name): Step =>
      (checker) =>
        checker.revoke(['SUB', name]),
  ),
  group.map(
    (name): Step =>
      (checker) =>
        checker.revoke(['GROUP', name]),
  ),
  role.map(
    (name): Step =>
      (checker) =>
        checker.revoke(['ROLE', name]),
  ),
  fc.nat(8).map(
    (id): Step =>
      (checker) =>
        checker.revoke(['JTI', `t${id}`]),
  ),
  fc.constant<Step>((checker) => checker.revoke(['ALL'])),
  fc.constantFrom(...KEY_ORDERS).map(
    (words): Step =>
      (checker) =>
        checker.revoke(words),
  ),
  {
    weight: 4,
    arbitrary: target.map(
      (name): Step =>
        (checker) =>
          checker.revoke(['CHANNEL', name, 'PERSIST']),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(target, scope).map(([name, who]): Step => (checker) => {
      const words = ['CHANNEL', name, 'FOR', who.kind, who.name, 'PERSIST']
      checker.revoke(words, who)
    }),
  },
)

const step = fc.oneof(
  { weight: 6, arbitrary: login },
  { weight: 8, arbitrary: subscribe },
  {
    weight: 10,
    arbitrary: fc.tuple(channel, fc.boolean()).map(
      ([name, large]): Step =>
        (checker) =>
          checker.publish(name, large),
    ),
  },
  { weight: 2, arbitrary: revoke },
  { weight: 1, arbitrary: fc.constant<Step>((checker) => checker.unrevoke()) },
  {
    weight: 8,
    arbitrary: fc.integer({ min: 1, max: 3 }).map(
      (n): Step =>
        (checker) =>
          checker.settle(n),
    ),
  },
  { weight: 4, arbitrary: fc.constant<Step>((checker) => checker.endTurn()) },
  {
    weight: 4,
    arbitrary: fc.tuple(slot, fc.boolean()).map(
      ([at, on]): Step =>
        (checker) =>
          checker.block(at, on),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(slot, fc.constantFrom('MULTI', 'EXEC', 'RESET', 'PING')).map(
      ([at, word]): Step =>
        (checker) =>
          checker.send(at, word),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((checker) => checker.server.clock.advance(6_000)) },
)

/** Sessions that listen, so that every run has something to take away. */
const begin: Step = async (checker) => {
  for (const [at, name] of ['a', 'b', 'a'].entries()) {
    const signer = SIGNERS[at + 1]
    checker.login(at, checker.mint(`s${at % 2}`, `g${at % 2}`, 'r0', signer), 'websocket', 3)
    await checker.settle(1)
    await checker.settle(1)
    await checker.settle(1)
    checker.send(at, 'SUBSCRIBE', name)
    checker.send(at, 'PSUBSCRIBE', '*')
  }
}

const guarantee = fc.asyncProperty(
  fc.constantFrom<'close' | 'unsubscribe'>('close', 'unsubscribe'),
  fc.array(step, { minLength: 10, maxLength: 60 }),
  async (mode, steps) => {
    const checker = new Checker(mode)
    await checker.start()
    await begin(checker)
    for (const run of steps) await run(checker)
    await checker.finish()
  },
)

describe('The guarantee of a revocation', () => {
  test(`holds in ${RUNS} random interleavings`, { timeout: 600_000 }, async () => {
    await fc.assert(guarantee, { numRuns: RUNS })
  })
})

/** One check of the server, and how a test takes it out. */
type Breakage = readonly [what: string, take: () => () => void]

/** Replaces a method until the answer is called. */
function replace<T extends object, K extends keyof T>(
  of: T,
  name: K,
  by: (original: T[K]) => T[K],
): () => void {
  const original = of[name]
  of[name] = by(original)
  return () => void (of[name] = original)
}

const BROKEN: readonly Breakage[] = [
  [
    'tokens that are revoked log in',
    () => replace(RevocationTable.prototype, 'refusing', () => () => undefined),
  ],
  [
    'a token that was revoked after its verification logs in',
    () => {
      let verifying = 0
      const ends = [
        replace(
          Login.prototype,
          'verify',
          (verify) =>
            async function (this: Login, ...args) {
              verifying++
              try {
                return await verify.apply(this, args)
              } finally {
                verifying--
              }
            },
        ),
        replace(
          RevocationTable.prototype,
          'refusing',
          (refusing) =>
            function (this: RevocationTable, grant) {
              return verifying > 0 ? refusing.call(this, grant) : undefined
            },
        ),
      ]
      return () => ends.forEach((end) => end())
    },
  ],
  ['live sessions are not cut', () => replace(Enforcement.prototype, 'cut', () => () => {})],
  [
    'live sessions are cut after the reply',
    () =>
      replace(
        Enforcement.prototype,
        'cut',
        (cut) =>
          function (this: Enforcement, ...args) {
            setImmediate(() => setImmediate(() => cut.apply(this, args)))
          },
      ),
  ],
  [
    'what is queued for a session that is cut is sent',
    () =>
      replace(
        Client.prototype,
        'close',
        (close) =>
          function (this: Client, cause, push) {
            close.call(this, { ...cause, output: 'flush' }, push)
          },
      ),
  ],
  [
    'queued messages of a lost channel are sent',
    () => replace(Output.prototype, 'dropQueued', () => () => {}),
  ],
  [
    'messages of a pattern are dropped whole or not at all',
    () =>
      replace(
        Segment.prototype,
        'without',
        (without) =>
          function (this: Segment, from, to, drops) {
            return this.kind === 'pmessage'
              ? [{ start: from, end: to }]
              : without.call(this, from, to, drops)
          },
      ),
  ],
  [
    'messages of an exact subscription are never dropped',
    () =>
      replace(
        Segment.prototype,
        'without',
        (without) =>
          function (this: Segment, from, to, drops) {
            return this.kind === 'message'
              ? [{ start: from, end: to }]
              : without.call(this, from, to, drops)
          },
      ),
  ],
  [
    'patterns are not filtered once they stand',
    () => replace(Registry.prototype, 'regroup', () => (_subscriber, change) => change()),
  ],
  [
    'patterns are not filtered when they are subscribed to',
    () => replace(RevokedChannels.prototype, 'mayReach', () => () => false),
  ],
  ['lost subscriptions stay', () => replace(Enforcement.prototype, 'dropLost', () => () => false)],
  [
    'a revoked channel is denied to nobody',
    () => replace(RevokedChannels.prototype, 'find', () => () => undefined),
  ],
  [
    'sessions of a group are not found',
    () =>
      replace(
        SessionIndex.prototype,
        'find',
        (find) =>
          function (this: SessionIndex, kind, name) {
            return kind === 'group' ? [] : find.call(this, kind, name)
          },
      ),
  ],
  [
    'sessions of a key are not found',
    () =>
      replace(
        SessionIndex.prototype,
        'find',
        (find) =>
          function (this: SessionIndex, kind, name) {
            return kind === 'key' ? [] : find.call(this, kind, name)
          },
      ),
  ],
  [
    'a key is revoked under one of its ids only',
    () => replace(TrustedIssuers.prototype, 'keyNames', () => () => []),
  ],
  [
    'sessions that hold a pattern are not found',
    () => replace(Registry.prototype, 'patterns', () => function* () {}),
  ],
]

describe('The checker notices it where', () => {
  test.each(BROKEN)('%s', { timeout: 120_000 }, async (_what, take) => {
    const restore = take()
    try {
      const result = await fc.check(guarantee, { numRuns: 1_000, endOnFailure: true })
      expect(result.failed).toBe(true)
    } finally {
      restore()
    }
  })
})
