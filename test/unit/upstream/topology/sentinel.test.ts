import { describe, expect, it } from 'vitest'
import type { Authority } from '../../../../server/upstream/topology/authority.ts'
import { nodeText } from '../../../../server/upstream/node.ts'
import { sentinelsOf } from '../../../../server/upstream/topology/sentinel.ts'
import {
  bulk,
  FakeNetwork,
  helloOf,
  infoOf,
  pushOf,
  type FakeSocket,
} from '../../../support/fake-node.ts'
import { folderWith } from '../../../support/folder.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { settingsOf, type Directives } from '../../../support/settings.ts'

const QUESTION = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main']
const A = '10.0.0.1:6379'
const B = '10.0.0.2:6379'
const UNKNOWN = '_\r\n'

/** An answer that names a node. */
const naming = (text: string): string => {
  const colon = text.lastIndexOf(':')
  return `*2\r\n${bulk(text.slice(0, colon))}${bulk(text.slice(colon + 1))}`
}

/** Sentinels whose connections the test answers by hand; their hosts are `s0`, `s1` and so on. */
class Council {
  readonly network = new FakeNetwork()
  readonly log = recordedLog()
  readonly authority: Authority
  /** What was told, in order. */
  readonly told: (string | undefined)[] = []

  constructor(count: number, directives: Directives = {}) {
    const { clock, turn, open } = this.network
    const nodes = Array.from({ length: count }, (_, at) => ({ host: `s${at}`, port: 26_379 }))
    const upstream = `redis+sentinel://${nodes.map(({ host }) => host).join(',')}/main`
    this.authority = sentinelsOf(
      {
        settings: settingsOf({ upstream, ...directives }),
        clock,
        log: this.log.log,
        random: () => 0,
        atEndOfTurn: turn.atEndOfTurn,
        open,
      },
      false,
      nodes,
      'main',
    )
    this.authority.onChange((node) => this.told.push(node && nodeText(node)))
    this.authority.start()
    this.pass(0)
  }

  /** The newest connection to a sentinel. */
  socket(at: number): FakeSocket {
    const socket = this.network.sockets.findLast(({ node }) => node.host === `s${at}`)
    if (!socket) throw new Error(`no connection to s${at}`)
    return socket
  }

  /** A sentinel takes the connection. @returns What it is told first. */
  connect(at: number): string[][] {
    this.socket(at).shakeHands({ mode: 'sentinel' })
    this.network.turn.end()
    const commands = this.socket(at).take()
    this.socket(at).receive(pushOf('subscribe', '+switch-master', 1))
    return commands
  }

  /** A sentinel takes the connection, and answers the first question. */
  vote(at: number, answer: string): void {
    this.connect(at)
    this.socket(at).receive(answer)
  }

  /** Time passes. */
  pass(ms: number): void {
    this.network.clock.advance(ms)
    this.network.turn.end()
  }

  /** A second passes, and sentinels are asked again. */
  ask(...answers: readonly (string | undefined)[]): void {
    this.pass(1_000)
    for (const [at, answer] of answers.entries()) {
      if (answer !== undefined) this.socket(at).receive(answer)
    }
  }

  /** Answers HELLO with an error. */
  refuseHello(at: number, line: string): void {
    this.socket(at).accept()
    this.socket(at).receive(`-${line}\r\n`)
  }
}

/** Three sentinels that name A. */
function agreed(): Council {
  const council = new Council(3)
  for (const at of [0, 1, 2]) council.vote(at, naming(A))
  return council
}

describe('the master', () => {
  it('is the node that two of three sentinels name', () => {
    const council = new Council(3)
    council.vote(0, naming(A))
    expect(council.told).toEqual([])
    council.vote(1, naming(A))
    expect(council.told).toEqual([A])
    council.vote(2, naming(B))
    expect(council.told).toEqual([A])
    expect(council.authority.problems).toEqual([])
  })

  it('is not named by one sentinel that repeats itself', () => {
    const council = new Council(3)
    council.vote(0, naming(A))
    council.ask(naming(A))
    council.ask(naming(A))
    expect(council.told).toEqual([])
  })

  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
  ])('of %i sentinels that are configured takes %i, however many answer', (count, majority) => {
    const council = new Council(count)
    for (let at = 0; at < majority - 1; at++) council.vote(at, naming(A))
    expect(council.told).toEqual([])
    council.vote(majority - 1, naming(A))
    expect(council.told).toEqual([A])
  })

  it('changes when the majority does', () => {
    const council = agreed()
    council.ask(naming(B), naming(A), naming(A))
    expect(council.told).toEqual([A])
    council.ask(naming(B), naming(B), naming(A))
    expect(council.told).toEqual([A, B])
  })

  it('is nobody as soon as no majority names one', () => {
    const council = agreed()
    council.ask(naming(A), naming(B), UNKNOWN)
    expect(council.told).toEqual([A, undefined])
    council.ask(naming(B), naming(B), UNKNOWN)
    expect(council.told).toEqual([A, undefined, B])
  })

  it('is nobody as soon as connections end without which there is no majority', () => {
    const council = agreed()
    council.socket(0).close()
    expect(council.told).toEqual([A])
    council.socket(1).close()
    expect(council.told).toEqual([A, undefined])
    council.pass(0)
    council.vote(1, naming(A))
    expect(council.told).toEqual([A, undefined, A])
  })

  it('is not named by sentinels that have been silent for three seconds', () => {
    const council = agreed()
    for (let second = 0; second < 4; second++) council.ask(naming(A))
    expect(council.told).toEqual([A])
    council.ask(naming(A))
    expect(council.told).toEqual([A, undefined])
    expect(council.log.lines.map(({ problem }) => problem)).toContain(
      'upstream: the sentinel s1:26379 does not answer',
    )
  })

  it.each([
    ['a host name, whatever its case', 'Redis-1.Example:6379', 'redis-1.example:6379'],
    ['an IPv6 address', 'fd00::1:6379', '[fd00::1]:6379'],
  ])('may be %s', (_kind, text, told) => {
    const council = new Council(1)
    council.vote(0, naming(text))
    expect(council.told).toEqual([told])
  })
})

describe('a sentinel', () => {
  it('is subscribed to, and asked, as soon as it is connected', () => {
    const council = new Council(1)
    expect(council.connect(0)).toEqual([['SUBSCRIBE', '+switch-master'], QUESTION])
  })

  it('is asked each second, once the question before is answered', () => {
    const council = new Council(1)
    council.connect(0)
    council.pass(1_000)
    expect(council.socket(0).take()).toEqual([])
    council.socket(0).receive(naming(A))
    council.pass(1_000)
    expect(council.socket(0).take()).toEqual([QUESTION])
  })

  it('is asked at once when it tells of another master of this name, and of no other', () => {
    const council = agreed()
    const event = (text: string): void => {
      council.socket(0).receive(pushOf('message', '+switch-master', text))
      council.network.turn.end()
    }
    event('other 10.0.0.1 6379 10.0.0.2 6379')
    event('main2 10.0.0.1 6379 10.0.0.2 6379')
    expect(council.socket(0).take()).toEqual([])
    event('main 10.0.0.1 6379 10.0.0.2 6379')
    expect(council.socket(0).take()).toEqual([QUESTION])
  })

  it('is shown among the links', () => {
    const council = new Council(2)
    council.connect(0)
    expect(council.authority.states).toEqual([
      { role: 'sentinel', address: 's0:26379', isUp: true, sinceMs: 0 },
      { role: 'sentinel', address: 's1:26379', isUp: false, sinceMs: 0 },
    ])
  })

  it('may refuse events: it is asked each second all the same', () => {
    const council = new Council(1)
    council.socket(0).shakeHands({ mode: 'sentinel' })
    council.network.turn.end()
    council.socket(0).receive('-NOPERM no channel\r\n', naming(A))
    expect(council.told).toEqual([A])
    expect(council.log.lines.map(({ msg }) => msg)).toContain(
      'upstream-sentinel-user: s0:26379 refuses SUBSCRIBE, and failovers are seen a second late: give this user +subscribe and the channel +switch-master',
    )
  })

  it('is not asked any more after the end', () => {
    const council = agreed()
    council.authority.stop()
    expect(council.network.clock.pendingTimers).toBe(0)
    expect(council.network.sockets.every(({ isDestroyed }) => isDestroyed)).toBe(true)
  })
})

describe('the time until which the master was certain', () => {
  it('is when the oldest question was asked to which all answered its name', () => {
    const council = agreed()
    council.ask(naming(A), naming(A), naming(A))
    council.ask(naming(A), naming(A))
    expect(council.authority.certainMs).toBe(1_000)
    council.socket(2).receive(naming(A))
    expect(council.authority.certainMs).toBe(2_000)
  })

  it('stands still from when one names another, so that a gap covers what clients of that sentinel publish there', () => {
    const council = agreed()
    const certain: number[] = []
    council.authority.onChange(() => certain.push(council.authority.certainMs))
    council.ask(naming(A), naming(A), naming(A))
    council.ask(naming(B), naming(A), naming(A))
    council.ask(naming(B), naming(A), naming(A))
    council.ask(naming(B), naming(B), naming(A))
    expect(certain).toEqual([1_000])
  })

  it('is ten seconds ago at the earliest: a sentinel may be wrong for good', () => {
    const council = agreed()
    for (let second = 1; second <= 30; second++) council.ask(naming(B), naming(A), naming(A))
    expect(council.authority.certainMs).toBe(20_000)
  })
})

describe('the problem', () => {
  it('is one sentence of how many sentinels answer, and how many agree', () => {
    const council = new Council(5)
    council.vote(0, naming(A))
    council.vote(1, naming(A))
    council.vote(2, naming(B))
    council.vote(3, UNKNOWN)
    expect(council.authority.problems[0]).toBe(
      `upstream: no majority of the sentinels agrees on a master: 4 of 5 answer, 2 name ${A}, 1 names ${B}, 1 knows no such master`,
    )
  })

  it('is beside that the reason of each sentinel that does not answer', () => {
    const council = new Council(2)
    council.vote(0, naming(A))
    council.socket(1).fail('ECONNREFUSED')
    expect(council.authority.problems).toEqual([
      `upstream: no majority of the sentinels agrees on a master: 1 of 2 answers, 1 names ${A}`,
      'upstream: s1:26379: ECONNREFUSED',
    ])
  })

  it('is none while a majority names a master, whatever is wrong with the others', () => {
    const council = new Council(3)
    council.vote(0, naming(A))
    council.vote(1, naming(A))
    council.refuseHello(2, 'WRONGPASS invalid username-password pair or user is disabled.')
    expect(council.authority.problems).toEqual([])
    expect(council.log.lines.map(({ msg }) => msg)).toContain(
      'upstream-sentinel-password-file: s2:26379 refuses the user or password: correct upstream-sentinel-user and the file',
    )
  })

  it('is a name that the sentinels do not know', () => {
    const council = new Council(3)
    council.vote(0, UNKNOWN)
    council.vote(1, UNKNOWN)
    expect(council.authority.problems).toEqual([
      "upstream: the sentinels know no master 'main': correct the name behind the last /, or have them monitor it",
    ])
    council.ask(naming(A), naming(A))
    expect(council.authority.problems).toEqual([])
  })

  it.each([
    [
      'NOAUTH HELLO must be called with the client already authenticated',
      'upstream-sentinel-password-file: s0:26379 requires a password: set it, and upstream-sentinel-user for a user other than default',
    ],
    [
      'WRONGPASS invalid username-password pair or user is disabled.',
      'upstream-sentinel-password-file: s0:26379 refuses the user or password: correct upstream-sentinel-user and the file',
    ],
  ])('is a login that is refused: %s', (line, problem) => {
    const council = new Council(1)
    council.refuseHello(0, line)
    expect(council.authority.problems).toContain(problem)
  })

  it('is a Redis where a sentinel should be', () => {
    const council = new Council(1)
    council.socket(0).accept()
    council.socket(0).receive(helloOf(), '+OK\r\n', infoOf())
    expect(council.authority.problems).toContain(
      'upstream: s0:26379 is no sentinel: name the sentinels, or write redis:// before a Redis alone',
    )
  })

  it('is a user who may not ask, until he may', () => {
    const council = new Council(1)
    council.vote(0, '-NOPERM no permissions\r\n')
    expect(council.authority.problems).toContain(
      'upstream-sentinel-user: s0:26379 refuses SENTINEL (NOPERM no permissions): give this user +sentinel|get-master-addr-by-name',
    )
    council.ask(naming(A))
    expect(council.told).toEqual([A])
    expect(council.authority.problems).toEqual([])
  })

  it('goes to the log when it has lasted a second, once', () => {
    const council = new Council(3)
    council.vote(0, naming(A))
    const said = (): number =>
      council.log.lines.filter(({ msg }) => msg.includes('no majority')).length
    expect(said()).toBe(0)
    council.ask(naming(A))
    council.ask(naming(A))
    expect(said()).toBe(1)
  })

  it('of a node that is named and is a replica until now says so', () => {
    const { authority } = new Council(1)
    const facts = { version: '', info: new Map<string, string>(), node: { host: 'a', port: 1 } }
    expect(authority.problemOf({ ...facts, mode: 'standalone', role: 'replica' })).toBe(
      'upstream: the sentinels name a:1 as master, and it is a replica until now',
    )
    expect(authority.problemOf({ ...facts, mode: 'standalone', role: 'master' })).toBeUndefined()
  })
})

it('logs in to sentinels by the password of their own', () => {
  const folder = folderWith({ password: 'sesame\n' })
  const council = new Council(1, { 'upstream-sentinel-password-file': `${folder}/password` })
  council.socket(0).accept()
  expect(council.socket(0).shift()).toEqual([
    ...['HELLO', '3', 'AUTH', 'default', 'sesame', 'SETNAME', 'respcast'],
  ])
})
