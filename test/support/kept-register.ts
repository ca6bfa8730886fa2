import type { KeptRegister } from '../../server/control/journal.ts'
import type { Register } from '../../server/control/register.ts'

/** A register as the file of revocations gives it back: those of revocations restore themselves, and have no value. */
export function keptOf({ key, version, uuid, value }: Register): KeptRegister {
  const kept = key.startsWith('r:') ? undefined : value
  return { key, version, uuid, isDeleted: value === undefined, value: kept }
}
