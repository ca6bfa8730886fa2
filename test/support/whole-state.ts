import type { Register } from '../../server/control/register.ts'
import type { ControlStore, StoreFailure } from '../../server/control/store.ts'

type State = Exclude<Awaited<ReturnType<ControlStore['readState']>>, StoreFailure>

/** Reads all registers of a namespace; of one that comes twice the last. */
export async function wholeState(
  store: Pick<ControlStore, 'readState'>,
): Promise<(State & { readonly registers: readonly Register[] }) | StoreFailure> {
  const registers = new Map<string, Register>()
  const state = await store.readState((page) => {
    for (const register of page) registers.set(register.key, register)
  })
  if (state.state === 'failed') return state
  return { ...state, registers: [...registers.values()] }
}
