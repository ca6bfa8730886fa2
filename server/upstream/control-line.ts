import type { CommandArgument } from '../../shared/resp/command.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Reply } from './link/command-link.ts'

/**
 * The place of the control plane at the upstream: a connection for its commands, and its channels among the messages.
 *
 * The channels come on the subscriber link of the node that has their slot, between the messages of that link. In a cluster they are
 * shard channels.
 */
export interface ControlLine {
  /** Names the user of the line; before the upstream is started. */
  attach(user: ControlUser): void
  /** The commands can be sent now. */
  readonly isUp: boolean
  /** Messages to the control plane's channels are published by this command. */
  readonly publishCommand: 'PUBLISH' | 'SPUBLISH'
  /**
   * Sends a command to the node that holds the keys of the namespace; where {@link isUp} is false, it is lost at once. Replies come in
   * the order of the commands. In a cluster a command that is answered MOVED, ASK, TRYAGAIN or CLUSTERDOWN is sent again where it
   * belongs, for five seconds at most, and may then be answered behind later ones. A reply that is not there after five seconds ends
   * the connection.
   */
  ask(reply: Reply, ...args: readonly CommandArgument[]): void
  /**
   * Everything that was committed before the channels were in force has been applied: names may be subscribed to. Without effect unless
   * they are still in force: see {@link ControlUser.listening}.
   */
  admit(): void
  /**
   * Takes no further message of the upstream until {@link resume}, not even of what has been read already: nothing that was published
   * after an entry overtakes its application. Calls count; each needs its own {@link resume}, after which messages go on at the end of
   * the turn.
   *
   * Confirmations wait as well, so the channels do not come into force meanwhile. A pause of more than three seconds ends links that
   * names are admitted to.
   */
  pause(): void
  resume(): void
  /**
   * Ends the subscriber links, so that nothing more is delivered. They are made again at once, with the channels alone: all other names wait
   * for {@link admit}, and the messages until then are a gap.
   */
  cutOff(problem: string): void
  readonly subscriptions: UpstreamSubscriptions
}

/** What the masters of an upstream have answered together. */
export interface Asked<Value> {
  readonly value: Value
  /** All of them have answered. */
  readonly isWhole: boolean
}

/** What is subscribed to at the upstream, by native clients and by the links of gateways. Names are byte strings. */
export interface UpstreamSubscriptions {
  /** Reports whether the link of this gateway is one of the subscribers that the upstream counts for a name. */
  holds(space: PublishSpace, name: string): boolean
  /** The patterns of this gateway's links there: `host:port <pattern>`, with the node that counts it. */
  covers(): string[]
  /** `PUBSUB NUMSUB` or `SHARDNUMSUB`: the sums over all masters, in the order of the names; 0 for what only gateways use. */
  counts(space: PublishSpace, names: readonly string[]): Promise<Asked<readonly number[]>>
  /** `PUBSUB CHANNELS` or `SHARDCHANNELS` at all masters, without what only gateways use. Not whole where there are too many to ask. */
  names(space: PublishSpace, pattern: string | undefined): Promise<Asked<readonly string[]>>
  /** `PUBSUB NUMPAT`: the sum over all masters. */
  patterns(): Promise<Asked<number>>
}

/** Takes what concerns the control plane. */
export interface ControlUser {
  /** The control plane's channels, byte strings that begin with the reserved prefix and have one hash tag. */
  readonly channels: readonly string[]
  /** Commands can be sent: the first time, or again. @param isOther Another node than before. */
  up(isOther: boolean): void
  down(): void
  /**
   * All channels are in force. No other name is, and none is asked for before {@link ControlLine.admit}. In a cluster that holds for
   * all nodes the first time, then for the node of the channels if its link was lost; if the slot has moved, names stay as they are.
   */
  listening(): void
  /** They are not any more: entries may be missed. */
  deaf(): void
  /** A message to one of the channels, in its place among all messages of the link. The bytes are the user's. */
  message(channel: string, payload: Buffer): void
  /** A subscriber link has read something. It may end the link in the call, and then nothing of it is handed on. */
  beforeRead(): void
  /** `TRYAGAIN …` while this gateway may not serve: publishes and subscriptions are answered with it. Undefined otherwise. */
  readonly refusal: `TRYAGAIN ${string}` | undefined
  /** Sentences for `/readyz`. */
  readonly problems: readonly string[]
}
