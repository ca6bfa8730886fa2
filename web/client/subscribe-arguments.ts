import type { AnyCodec, CodecName, DataOf } from './codec.ts'
import type { SubscribeOptions } from './subscriber.ts'
import type { MessageHandler } from './types.ts'

/** What stands behind the name in `subscribe`: a handler, or options, or both. */
export type Arguments<Data> =
  | readonly [options?: SubscribeOptions]
  | readonly [handler: MessageHandler<Data>, options?: SubscribeOptions]

/** Options that name a codec. */
type WithCodec<Choice> = SubscribeOptions & { readonly codec: Choice }

/** Data made by the codec of one subscription instead of the client's. */
export type CodedArguments<Choice extends CodecName | AnyCodec> =
  | readonly [options: WithCodec<Choice>]
  | readonly [handler: MessageHandler<DataOf<Choice>>, options: WithCodec<Choice>]
