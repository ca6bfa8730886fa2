import type { FastifyPluginAsync } from 'fastify'
import { loadConfig } from './config/load.ts'
import { Config } from './config/store.ts'
import { Gateway } from './gateway.ts'
import { respcastPlugin } from './http/public.ts'
import { silentLog, type Logger } from './log.ts'

export type { RespcastHandle } from './http/public.ts'

/** Options of an application that embeds the server. */
export interface EmbedOptions {
  /** A configuration file, as on the command line. */
  readonly file?: string
  /**
   * Directives by name; several values of one directive (`user`) as several lists of words. The listeners for HTTP are the
   * application's own, so `http-*` and `admin-*` are without effect.
   */
  readonly directives?: Readonly<Record<string, string | readonly (readonly string[])[]>>
  /** Nothing is logged without one. */
  readonly log?: Logger
  /** With `port 0`: any free port instead of none. */
  readonly anyPort?: boolean
}

/**
 * Respcast within a Fastify application: the WebSocket at `ws-path` of its own listener, RESP on `port`, and
 * `app.respcast.publish(channel, payload)`. It ends with the application.
 *
 * ```ts
 * await app.register(respcast, { directives: { 'jwt-issuer': 'https://auth.example', ... } })
 * ```
 *
 * @throws RespcastError The configuration cannot be used, or a listener cannot be opened.
 */
export const respcast: FastifyPluginAsync<EmbedOptions> = async (app, options) => {
  const argv = options.file === undefined ? [] : [options.file]
  for (const [name, value] of Object.entries(options.directives ?? {})) {
    const lines = typeof value === 'string' ? [value.split(' ')] : value
    for (const words of lines) argv.push(`--${name}`, ...words)
  }
  argv.push('--http-port', '0', '--admin-port', '0')
  const config = new Config(loadConfig({ argv, env: process.env, cwd: process.cwd() }))
  const gateway = new Gateway({
    config,
    log: options.log ?? silentLog(),
    anyPort: options.anyPort ?? false,
    withoutHttp: true,
  })
  await gateway.start()
  // Hooks of one kind run in the order in which they were added: clients are told before the WebSocket server ends.
  app.addHook('preClose', () => gateway.stop())
  await app.register(respcastPlugin, { core: gateway.core, keepAlive: gateway.keepAlive })
}

Object.defineProperty(respcast, Symbol.for('skip-override'), { value: true })
