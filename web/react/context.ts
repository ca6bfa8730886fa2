import { createContext, createElement, useContext } from 'react'
import type { ReactNode } from 'react'
import type { RespcastClient } from '../client/client.ts'
import type { AnyClient } from './channel-store.ts'

const ClientContext = createContext<AnyClient | undefined>(undefined)

/** What {@link RespcastProvider} is given. */
export interface ProviderProps {
  /** A client that `connect` made. It outlives the components: whoever made it closes it. */
  readonly client: AnyClient
  readonly children?: ReactNode
}

/** Gives a client to the components within. */
export function RespcastProvider({ client, children }: ProviderProps): ReactNode {
  return createElement(ClientContext.Provider, { value: client }, children)
}

/**
 * The client of the nearest {@link RespcastProvider}: to publish, for example.
 *
 * @typeParam Channels What the client was connected with.
 * @throws {Error} Outside of a provider.
 */
export function useRespcast<
  Channels extends object = Record<string, Uint8Array>,
>(): RespcastClient<Channels> {
  // Whoever made the client knows its channels.
  return useAnyClient() as RespcastClient<Channels>
}

/** The client of the nearest {@link RespcastProvider}. @throws {Error} Outside of one. */
export function useAnyClient(): AnyClient {
  const client = useContext(ClientContext)
  if (!client) throw new Error('There is no RespcastProvider around this component')
  return client
}
