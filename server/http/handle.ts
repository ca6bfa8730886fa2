/** `app.respcast`: Pub/Sub from within an application that embeds the server. */
export interface RespcastHandle {
  /**
   * PUBLISH. Texts are encoded as UTF-8.
   *
   * @returns The receivers, as PUBLISH counts them. It rejects with `ERR_NOT_PUBLISHED` while the upstream cannot be reached.
   */
  publish(channel: string | Uint8Array, payload: string | Uint8Array): Promise<number>
  /** SPUBLISH. */
  spublish(shardChannel: string | Uint8Array, payload: string | Uint8Array): Promise<number>
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly respcast: RespcastHandle
  }
}
