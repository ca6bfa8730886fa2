import { describe, expect, test } from 'vitest'
import { fixedNode } from '../../../server/upstream/topology/authority.ts'
import type { UpstreamSubscriptions } from '../../../server/upstream/control-line.ts'
import { ControlRecorder } from '../../support/control-recorder.ts'
import { NODE } from '../../support/fake-node.ts'
import { ModelGateway } from '../../support/model-upstream.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import type { Directives } from '../../support/settings.ts'

/** A gateway that serves. */
function serving(directives: Directives = {}) {
  const user = new ControlRecorder()
  const { log, lines } = recordedLog()
  const gateway = new ModelGateway(directives, () => 0, fixedNode(NODE), log, user)
  const line = gateway.upstream.control
  if (line === undefined) throw new Error('there is no line')
  user.admitting(line)
  gateway.pass(1_000)
  return { gateway, node: gateway.node, lines, asked: line.subscriptions }
}

/** Lets the node answer: commands may follow from its answers. */
async function answered<Value>(gateway: ModelGateway, promise: Promise<Value>): Promise<Value> {
  for (let step = 0; step < 4; step++) {
    gateway.settle()
    for (let turn = 0; turn < 4; turn++) await Promise.resolve()
  }
  return promise
}

describe('What is subscribed to at an upstream', () => {
  test('is counted with the link of this gateway, which says what it holds', async () => {
    const { gateway, node, asked } = serving()
    node.natives.add('channel', 'a\xff', 2)
    node.natives.add('shard', 'a\xff', 3)
    gateway.subscribe(gateway.client(), 'channel', 'a\xff')
    gateway.settle()
    const names = ['b', 'a\xff', 'a\xff']
    expect(await answered(gateway, asked.counts('channel', names))).toEqual({
      value: [0, 3, 3],
      isWhole: true,
    })
    expect((await answered(gateway, asked.counts('shard', names))).value).toEqual([0, 3, 3])
    expect([asked.holds('channel', 'a\xff'), asked.holds('channel', 'b')]).toEqual([true, false])
    expect(asked.holds('shard', 'a\xff')).toBe(false)
  })

  test('is counted for more names than fit into one command', async () => {
    const { gateway, node, asked } = serving()
    const names = Array.from({ length: 25_000 }, (_, at) => `room:${at}`)
    node.natives.add('channel', 'room:0')
    node.natives.add('channel', 'room:24999', 2)
    const { value, isWhole } = await answered(gateway, asked.counts('channel', names))
    expect([value.length, value[0], value[1], value.at(-1), isWhole]).toEqual([
      25_000,
      1,
      0,
      2,
      true,
    ])
  })

  test('is listed without what only gateways use', async () => {
    const { gateway, node, asked } = serving()
    node.natives.add('channel', 'news:1')
    node.natives.add('channel', 'x')
    node.natives.add('shard', 'news:s')
    expect((await answered(gateway, asked.names('channel', undefined))).value).toEqual([
      'news:1',
      'x',
    ])
    expect(await answered(gateway, asked.names('channel', 'news:*'))).toEqual({
      value: ['news:1'],
      isWhole: true,
    })
    expect((await answered(gateway, asked.names('shard', 'news:*'))).value).toEqual(['news:s'])
    const [beacon] = [...node.subscriber.channel]
    expect(beacon).toMatch(/^\{respcast:/)
    expect((await answered(gateway, asked.counts('channel', [beacon!]))).value).toEqual([0])
  })

  test('is not listed where there is so much of it that the node would stand still', async () => {
    const { gateway, node, asked } = serving()
    node.natives.add('channel', 'x')
    node.channelFigure = 50_001
    const answer = await answered(gateway, asked.names('channel', 'x'))
    expect(answer).toEqual({ value: [], isWhole: false })
  })

  test('has patterns, of which some are those of this gateway', async () => {
    const { gateway, node, asked } = serving()
    node.natives.add('pattern', 'n*')
    gateway.subscribe(gateway.client(), 'pattern', 'a:[12]')
    gateway.settle()
    expect(await answered(gateway, asked.patterns())).toEqual({ value: 2, isWhole: true })
    expect(asked.covers()).toEqual(['127.0.0.1:6379 a:*'])
  })

  test('is not known where the user may not ask, which is said once', async () => {
    const { gateway, node, lines, asked } = serving()
    node.refuse = ([word]) =>
      word === 'PUBSUB' ? 'NOPERM this user has no permissions' : undefined
    const all = async (one: UpstreamSubscriptions): Promise<unknown[]> => [
      await answered(gateway, one.counts('channel', ['a'])),
      await answered(gateway, one.names('channel', undefined)),
      await answered(gateway, one.patterns()),
    ]
    const nothing = [
      { value: [0], isWhole: false },
      { value: [], isWhole: false },
      { value: 0, isWhole: false },
    ]
    expect(await all(asked)).toEqual(nothing)
    expect(await all(asked)).toEqual(nothing)
    expect(lines.filter(({ msg }) => msg.includes('+pubsub'))).toHaveLength(1)
  })

  test('is not known while there is no connection', async () => {
    const { gateway, node, asked } = serving()
    node.natives.add('channel', 'a')
    const waiting = asked.counts('channel', ['a'])
    void gateway.upstream.stop()
    expect((await answered(gateway, waiting)).isWhole).toBe(false)
    expect(await asked.counts('channel', ['a'])).toEqual({ value: [0], isWhole: false })
  })
})
