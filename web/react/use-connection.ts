import { useCallback, useSyncExternalStore } from 'react'
import type { ConnectionState } from '../client/types.ts'
import { useAnyClient } from './context.ts'

/** The state of the connection, with its reason; renders again when it changes. */
export function useConnection(): ConnectionState {
  const client = useAnyClient()
  const subscribe = useCallback((listener: () => void) => client.on('state', listener), [client])
  const snapshot = (): ConnectionState => client.state
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}
