import { utf8Text } from '../../shared/bytes.ts'
import type { Bytes } from './types.ts'

/** Converts payloads to data and back. */
export interface Codec<Data> {
  /** @throws If the payload cannot be read: the error is reported, and the message is not delivered. */
  decode(payload: Uint8Array): Data
  encode(data: Data): Bytes
}

/** A codec of any data. */
export interface AnyCodec {
  decode(payload: Uint8Array): unknown
  encode(data: never): Bytes
}

/** Built-in codecs: unchanged bytes, UTF-8 text, and JSON in UTF-8. */
export type CodecName = 'bytes' | 'text' | 'json'

/** Type of the data of a codec. JSON may be anything: check it before use. */
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
  // The caller's types say which data a codec takes.
  return typeof choice === 'string' ? CODECS[choice] : choice
}
