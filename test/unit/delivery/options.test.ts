import { describe, expect, test } from 'vitest'
import { Counters } from '../../../server/command/counters.ts'
import { ArenaPool } from '../../../server/delivery/arenas.ts'
import { Turn } from '../../../server/delivery/turn.ts'
import { deliveryOptions } from '../../../server/delivery/options.ts'
import type { Logger } from '../../../server/log.ts'
import { Registry } from '../../../server/pubsub/registry.ts'
import { type Overlay, type Subscriber, Subscriptions } from '../../../server/pubsub/subscriber.ts'
import { payloadOf } from '../../../server/delivery/segment.ts'
import { newOutput } from '../../support/new-output.ts'
import { settingsOf } from '../../support/settings.ts'
import { FakeClock } from '../../support/fake-clock.ts'

interface Line {
  readonly fields: unknown
  readonly text: string
}

function open() {
  const clock = new FakeClock()
  const counters = new Counters()
  const lines: Line[] = []
  const log = { warn: (fields: unknown, text: string) => void lines.push({ fields, text }) }
  const config = settingsOf({ 'ws-max-message-out': '10' })
  const registry = new Registry(
    deliveryOptions({ config, clock, counters, log: log as unknown as Logger }),
    new Turn(new ArenaPool()),
  )
  return { clock, counters, lines, registry }
}

/** A subscriber that is never written. */
function subscriber(maxMessageBytes: number, overlay?: Overlay): Subscriber {
  return {
    encoding: 3,
    subscriptions: new Subscriptions(),
    isMetered: false,
    maxMessageBytes,
    overlay,
    output: newOutput(),
  }
}

function publish(registry: Registry, channel: string, payloadBytes: number): number {
  return registry.publish('channel', channel, payloadOf(Buffer.alloc(payloadBytes)))
}

describe('a message over the limit of some subscribers', () => {
  test('is counted once for each of them, and not for the others', () => {
    const { registry, counters } = open()
    for (const most of [10, 10, Number.POSITIVE_INFINITY]) {
      registry.subscribe('channel', subscriber(most), 'a', 'u')
    }
    expect(publish(registry, 'a', 11)).toBe(1)
    expect(counters.messagesTooLargeForWebSocket).toBe(2)
  })

  test('is not counted at the limit itself', () => {
    const { registry, counters } = open()
    registry.subscribe('channel', subscriber(10), 'a', 'u')
    expect(publish(registry, 'a', 10)).toBe(1)
    expect(counters.messagesTooLargeForWebSocket).toBe(0)
  })

  test('is counted for a pattern too', () => {
    const { registry, counters } = open()
    const both = subscriber(10)
    registry.subscribe('channel', both, 'a', 'u')
    registry.subscribe('pattern', both, 'a*', 'u')
    expect(publish(registry, 'a', 11)).toBe(0)
    expect(counters.messagesTooLargeForWebSocket).toBe(2)
  })

  test('is not counted for those who may not have it anyway', () => {
    const { registry, counters } = open()
    const denied: Overlay = {
      mayReceive: () => false,
      mayPublish: () => true,
      mayDeny: () => true,
    }
    registry.subscribe('pattern', subscriber(10, denied), 'a*', 'u')
    expect(publish(registry, 'a', 11)).toBe(0)
    expect(counters.messagesTooLargeForWebSocket).toBe(0)
  })

  test('is logged at once, then once a minute at most, with how many deliveries it stands for', () => {
    const { registry, lines, clock } = open()
    registry.subscribe('channel', subscriber(10), 'a', 'u')
    publish(registry, 'a', 11)
    publish(registry, 'a', 12)
    clock.advance(59_999)
    publish(registry, 'a', 13)
    expect(lines).toEqual([
      {
        fields: { payloadBytes: 11, deliveries: 1 },
        text: 'not delivered to WebSockets: larger than ws-max-message-out',
      },
    ])
    clock.advance(1)
    publish(registry, 'a', 14)
    expect(lines).toHaveLength(2)
    expect(lines[1]?.fields).toEqual({ payloadBytes: 14, deliveries: 3 })
  })
})
