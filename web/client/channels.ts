import type { Binary, Bytes } from './types.ts'

/**
 * Types of the channels of an application: name → type of the data. A `*` in a name stands for any text, as in a pattern.
 *
 * Compile time only: the messages of publishers are not checked.
 *
 * @example
 * interface Channels { 'room:*': { text: string }; ticker: Uint8Array }
 * const client = connect<Channels>(url, { codec: 'json' })
 * client.subscribe('room:7', ({ data }) => show(data.text))
 */
export type ChannelMap = object

/** The names that a key of a {@link ChannelMap} stands for. */
export type Globbed<Key extends string> = Key extends `${infer Head}*${infer Tail}`
  ? `${Head}${string}${Globbed<Tail>}`
  : Key

/** Every name that a {@link ChannelMap} allows. */
export type NameIn<Channels> = { [Key in keyof Channels & string]: Globbed<Key> }[keyof Channels &
  string]

/** The data of a channel: by its own key, else by the keys with a `*` that match it. */
export type DataIn<Channels, Name extends string> = Name extends keyof Channels
  ? Channels[Name]
  : {
      [Key in keyof Channels & string]: Name extends Globbed<Key> ? Channels[Key] : never
    }[keyof Channels & string]

/** The data of a pattern: by its own key, else that of any channel. */
export type PatternDataIn<Channels, Pattern extends string> = Pattern extends keyof Channels
  ? Channels[Pattern]
  : Channels[keyof Channels & string]

/** Type of the data that may be published to a channel of `Data`. Bytes are always sent unchanged. */
export type Publishable<Data> = [Data] extends [Uint8Array] ? Bytes : Data | Binary
