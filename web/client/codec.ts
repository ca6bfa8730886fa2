import { utf8Text } from '../../shared/bytes.ts'
import type { Bytes } from './types.ts'

/** Makes data of payloads, and payloads of data. */
export interface Codec<Data> {
  /** @throws Whatever tells that a payload cannot be read: the message is reported, and not delivered. */
  decode(payload: Uint8Array): Data
  encode(data: Data): Bytes
}

/** A codec, whatever its data are. */
export interface AnyCodec {
  decode(payload: Uint8Array): unknown
  encode(data: never): Bytes
}

/** The codecs that need no writing: bytes as they are, UTF-8 text, and JSON in UTF-8. */
export type CodecName = 'bytes' | 'text' | 'json'

/** What data a codec makes. JSON may be anything, so look before using it. */
export type DataOf<Choice extends CodecName | AnyCodec> = Choice extends 'bytes'
  ? Uint8Array
  : Choice extends 'text'
    ? string
    : Choice extends { decode(payload: Uint8Array): infer Data }
      ? Data
      : unknown

const CODECS: Record<CodecName, AnyCodec> = {
  bytes: { decode: (payload) => payload, encode: (data) => data },
  text: { decode: (payload) => utf8Text(payload), encode: (data) => data },
  json: {
    decode: (payload) => JSON.parse(utf8Text(payload)),
    encode: (data) => JSON.stringify(data),
  },
}

/** The codec that a name stands for; a codec stands for itself. */
export function codecOf(choice: CodecName | AnyCodec): Codec<unknown> {
  // What goes into a codec is what its owner typed it for.
  return typeof choice === 'string' ? CODECS[choice] : choice
}
