export type {
  AnyClient,
  ChannelOptions,
  ChannelReaction,
  ChannelState,
} from '../store/channel-store.ts'
export { RespcastProvider, useRespcast } from './hooks.ts'
export type { ProviderProps, Register } from './hooks.ts'
export { useChannel } from './hooks.ts'
export { useConnection } from './hooks.ts'
