/** `app.respcast`: Pub/Sub from within an application that embeds the server. */
export interface RespcastHandle {
  /**
   * PUBLISH. Texts are encoded as UTF-8.
   *
   * @returns How many deliveries were made by this server.
   */
  publish(channel: string | Uint8Array, payload: string | Uint8Array): number
  /** SPUBLISH. */
  spublish(shardChannel: string | Uint8Array, payload: string | Uint8Array): number
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly respcast: RespcastHandle
  }
}
