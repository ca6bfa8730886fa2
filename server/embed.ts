import type { FastifyPluginAsync } from 'fastify'
import { loadConfig } from './config/load.ts'
import { Config } from './config/store.ts'
import { RespcastError } from './errors.ts'
import { Gateway } from './gateway.ts'
import { respcastPlugin } from './http/public.ts'
import { silentLog, type Logger } from './log.ts'

export type { RespcastHandle } from './http/handle.ts'

/** Options of an application that embeds the server. */
export interface EmbedOptions {
  /** A configuration file, as on the command line. */
  readonly file?: string
  /**
   * Directives by name; several values of one directive (`user`) as several lists of words. The listener for HTTP is the
   * application's own, and `http-bind` says where it listens: anywhere, unless it is set. Beyond loopback the same is required
   * as of a server of its own (origins, a password of the default user); on loopback other machines are refused. There is no
   * administrators' listener.
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
  // What the administrators' listener would serve, the application does not.
  argv.push('--admin-port', '0')
  const { config, isAssumed } = configOf(argv)
  if (config.boolean('http-tls')) {
    throw new RespcastError(
      'ERR_CONFIG',
      "http-tls: the listener is the application's own. Give Fastify the option https, and remove http-tls.",
    )
  }
  const gateway = gatewayOf(config, isAssumed, options)
  await gateway.start()
  // Hooks of one kind run in the order in which they were added: clients are told before the WebSocket server ends.
  app.addHook('preClose', () => gateway.stop())
  await app.register(respcastPlugin, { core: gateway.core, keepAlive: gateway.keepAlive })
}

/** The configuration; unless it says where the application listens, that is assumed to be anywhere. */
function configOf(argv: readonly string[]): { config: Config; isAssumed: boolean } {
  const input = { env: process.env, cwd: process.cwd() }
  const config = new Config(loadConfig({ ...input, argv }))
  if (config.source('http-bind').kind !== 'default') return { config, isAssumed: false }
  const assumed = [...argv, '--http-bind', '*']
  return { config: new Config(loadConfig({ ...input, argv: assumed })), isAssumed: true }
}

function gatewayOf(config: Config, isAssumed: boolean, options: EmbedOptions): Gateway {
  try {
    return new Gateway({
      config,
      log: options.log ?? silentLog(),
      anyPort: options.anyPort ?? false,
      withoutHttp: true,
    })
  } catch (error) {
    if (!isAssumed || !(error instanceof RespcastError)) throw error
    const hint = 'If the application listens on loopback only, say so: http-bind 127.0.0.1.'
    throw new RespcastError(error.code, `${error.message} ${hint}`, { cause: error })
  }
}

Object.defineProperty(respcast, Symbol.for('skip-override'), { value: true })
