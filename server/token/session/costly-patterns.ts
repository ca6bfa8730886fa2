import { Client } from '../../client/client.ts'
import type { Services } from '../../command/context.ts'
import { tell, tokenPushes, unsubscribePush } from './pushes.ts'

/** Told with the push to those who lose a pattern. */
const MESSAGE = 'the pattern costs too much'

/** Ends all subscriptions to a pattern that exceeds `ws-pattern-steps`. Its subscribers are told and stay connected. */
export function dropPattern(
  name: string,
  { counters, log, registry }: Pick<Services, 'counters' | 'log' | 'registry'>,
): void {
  const subscribers = [...registry.subscribersOf('pattern', name)]
  counters.patternsDropped++
  log.debug({ patternBytes: name.length, subscribers: subscribers.length }, 'pattern dropped')
  for (const client of subscribers) {
    if (!(client instanceof Client)) continue
    registry.unsubscribe('pattern', client, name)
    const left = client.subscriptions.count
    client.output.push(unsubscribePush(client, { space: 'pattern', name, left }))
    tell(client, tokenPushes.revoked(name, MESSAGE))
  }
}
