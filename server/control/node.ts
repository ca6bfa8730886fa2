/** Ids of clients and revocations are the number of their gateway times this, and a counter. */
export const IDS_PER_NODE = 2 ** 40

/** A gateway in the registry of its namespace. */
export interface NodeRecord {
  /** 16 hexadecimal digits, random, anew at each start. */
  readonly id: string
  /** 1 to 4,095, unique among the gateways of the namespace: the ids of its clients and revocations begin with it. */
  readonly number: number
  /** For people: the directive `node-name`. */
  readonly name: string
  readonly version: string
  /** Where its clients reach it: `host:port` of RESP, of the public listener and of the administrators'; empty where closed. */
  readonly addresses: { readonly resp: string; readonly http: string; readonly admin: string }
  readonly startedAtMs: number
  readonly clients: number
  readonly sessions: number
  readonly subscriptions: number
  /** Id of the last entry that it has applied. */
  readonly applied: string
  readonly isDraining: boolean
  /** SHA-256, 16 digits, of its issuers and of its settings about the ACL: gateways of one namespace have the same. */
  readonly digests: { readonly issuers: string; readonly acl: string }
  /** Kinds of entries that it can apply: prefixes of parts. */
  readonly parts: readonly string[]
}

/** A gateway as another one knows it. */
export interface KnownNode extends NodeRecord {
  /** Monotonic milliseconds of this process: its lease ends then at the latest. In the past: it is fenced, or gone. */
  readonly leaseEndsMs: number
}
