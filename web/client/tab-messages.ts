/** What a tab tells the worker that holds the shared connection. */
export type TabRequest =
  /** Wants a connection. `lock` is a Web Lock that the tab holds as long as it lives. */
  | {
      readonly type: 'open'
      readonly url: string
      readonly protocols: readonly string[]
      readonly lock: string
    }
  /** One or more whole commands. */
  | { readonly type: 'send'; readonly bytes: Uint8Array }
  /** So many bytes were taken in. */
  | { readonly type: 'taken'; readonly bytes: number }
  /** Leaves. `isDead`: the connection did not answer. */
  | { readonly type: 'close'; readonly isDead: boolean }

/** What the worker tells a tab. */
export type TabNotice =
  /** The worker runs; comes first. */
  | { readonly type: 'hello' }
  | { readonly type: 'opened' }
  /** Whole RESP3 values. */
  | { readonly type: 'received'; readonly bytes: Uint8Array }
  | { readonly type: 'closed'; readonly code: number; readonly reason: string }
