import type { Clock } from '../clock.ts'
import type { Settings } from '../config/settings.ts'
import type { Logger } from '../log.ts'
import type { ControlLine } from '../upstream/control-line.ts'
import { aloneControl } from './alone-control.ts'
import type { Control } from './control.ts'
import type { Journal } from './journal.ts'
import { controlNames } from './names.ts'
import type { LocalSubscriptions } from './questions.ts'
import { RedisStore } from './redis-store.ts'
import { newId, SharedControl, type NodeFacts } from './shared-control.ts'
import { readSignature } from './signature.ts'

/**
 * The control plane that the configuration asks for.
 *
 * @param line Undefined where a gateway shares nothing.
 * @throws RespcastError `ERR_CONFIG`: the file of keys cannot be used.
 */
export function createControl(parts: {
  readonly clock: Clock
  readonly log: Logger
  readonly settings: Settings
  readonly line: ControlLine | undefined
  readonly journal: Journal
  readonly describe: () => NodeFacts
  /** What is subscribed to here. */
  readonly local: LocalSubscriptions
  readonly random: () => number
}): Control {
  const { clock, settings, line, describe } = parts
  if (line === undefined) return aloneControl(clock, describe)
  const namespace = settings.text('upstream-namespace')
  const store = new RedisStore({
    line,
    namespace,
    signature: readSignature(settings),
    user: settings.text('upstream-user') || 'default',
  })
  return new SharedControl({ ...parts, line, store, names: controlNames(namespace), id: newId() })
}
