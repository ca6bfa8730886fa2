import type { Registry } from '../../server/pubsub/registry.ts'
import {
  alone,
  type Backplane,
  type LinkFigures,
  type LinkState,
} from '../../server/upstream/backplane.ts'

/** Figures of an upstream from which nothing has come yet. */
export const NO_FIGURES: LinkFigures = {
  reconnects: new Map(),
  wanted: 0,
  confirmed: 0,
  beaconSeconds: Number.NaN,
  publishes: 0,
  publishSeconds: 0,
  inFlightBytes: 0,
  unwantedBytes: 0,
  gaps: new Map(),
  gapSeconds: 0,
}

/** Figures of an upstream that has seen trouble. */
export const SOME_FIGURES: LinkFigures = {
  reconnects: new Map([
    ['closed', 3],
    ['silent', 1],
  ]),
  wanted: 12_000,
  confirmed: 11_488,
  beaconSeconds: 0.000_42,
  publishes: 2_000,
  publishSeconds: 0.9,
  inFlightBytes: 4_096,
  unwantedBytes: 1_234,
  gaps: new Map([
    ['closed', 3],
    ['moved', 2],
  ]),
  gapSeconds: 7.5,
}

/** One link that is up, and one that is down. */
export const SOME_LINKS: readonly LinkState[] = [
  { role: 'subscriber', address: '127.0.0.1:6379', isUp: true, sinceMs: 0 },
  { role: 'command', address: '[::1]:6379', isUp: false, sinceMs: 0 },
]

/** A backplane that shows such links, and delivers here as if the upstream answered at once. */
export function withUpstream(
  shown: Partial<Pick<Backplane, 'links' | 'figures' | 'problems'>> = {},
): (registry: Registry) => Backplane {
  return (registry) => ({ ...alone(registry), isAlone: false, figures: NO_FIGURES, ...shown })
}
