import { rmSync, writeFileSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import { Gateway, type GatewayAddresses } from '../gateway.ts'
import { DEV_ISSUER, DEV_ROLE, type DevProfile } from './dev-profile.ts'
import { RESPCAST_VERSION } from '../version.ts'
import { takeInheritedSockets } from '../inherited-sockets.ts'
import { openLog, type Logger } from '../log.ts'
import { mintToken } from '../token/mint.ts'
import { CLOSED_TO_BROWSERS, isClosedToBrowsers } from './browsers.ts'
import { readConfig, reloadConfiguration } from './configuration.ts'
import { warmUp } from './warm-up.ts'

/** Life of the token that the development profile prints. */
const DEV_TOKEN_SECONDS = 12 * 3600

/**
 * Serves until a signal ends it.
 *
 * @param argv `[file] [--directive value ...]`
 * @throws RespcastError It cannot start; the message is one line that names the directive and the remedy.
 */
export async function serve(argv: readonly string[]): Promise<void> {
  const { config, dev } = readConfig(argv)
  const { log, reopen } = openLog(config.choice('loglevel'), config.path('logfile'), systemClock)
  if (config.withoutEffect.length > 0) {
    log.warn({ directives: config.withoutEffect }, 'directives without effect in this server')
  }
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  if (config.boolean('warm-up')) await warmUp(log)
  const sockets = takeInheritedSockets(process.env, process.pid)
  const gateway = new Gateway({ config, log, sockets, onShutdown: () => end() })
  const addresses = await gateway.start()
  if (isClosedToBrowsers(config)) log.warn(CLOSED_TO_BROWSERS)
  const pidFile = config.path('pidfile')
  if (pidFile !== '') writeFileSync(pidFile, `${process.pid}\n`)
  onSignals(log, gateway, end, () => {
    reopen()
    reloadConfiguration(config, log, { env: process.env, cwd: process.cwd(), argv })
  })
  if (dev) await greet(dev, addresses, config.text('upstream'))
  else announce(log, addresses)
  await ended
  await gateway.stop()
  if (pidFile !== '') rmSync(pidFile, { force: true })
  log.info('stopped')
}

function onSignals(log: Logger, { core }: Gateway, end: () => void, reload: () => void): void {
  const { admission, drain } = core
  let isHurried = false
  const onSignal = (signal: NodeJS.Signals): void => {
    // Some client does not read what is still its own, and the operator has waited long enough.
    if (isHurried) process.exit(0)
    log.info({ signal }, 'asked to end')
    // A balancer may be about to send somebody, so that a server without clients drains too; but nobody waits at a terminal.
    const isWorthIt = signal === 'SIGTERM' || drain.anyClient
    if (isWorthIt && !drain.isDraining && !admission.closing) {
      drain.begin()
      return
    }
    isHurried = true
    end()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  // A terminal that is closed does not end a server, as with Redis.
  process.on('SIGHUP', reload)
}

function announce(log: Logger, { resp, http, admin }: GatewayAddresses): void {
  const listeners = resp.map(({ address }) => address)
  log.info(
    { version: RESPCAST_VERSION, resp: listeners, http, admin },
    'ready to accept connections',
  )
}

async function greet(
  dev: DevProfile,
  { resp, http, admin }: GatewayAddresses,
  upstream: string,
): Promise<void> {
  const token = await mintToken(
    dev.secret,
    {
      ...DEV_ISSUER,
      sub: 'demo',
      lifetimeSeconds: DEV_TOKEN_SECONDS,
      grants: { roles: [DEV_ROLE] },
    },
    systemClock,
  )
  const port = resp[0]?.port ?? 0
  const cli = `redis-cli -p ${port}`
  process.stdout.write(
    [
      `Respcast ${RESPCAST_VERSION}, development profile: loopback only, users are not kept.`,
      '',
      `  RESP    ${resp.map(({ address }) => address).join(', ')}`,
      `  page    http://127.0.0.1:${http}/#token=${token}`,
      `  admin   http://127.0.0.1:${admin}/  (user admin, password ${dev.adminPassword})`,
      ...(upstream === '' ? [] : [`  upstream  ${upstream}`]),
      '',
      'In another terminal (valkey-cli does as well):',
      '',
      `  publish  ${cli} PUBLISH news hello`,
      `  mint     npx respcast token mint --sub 42 --role ${DEV_ROLE}`,
      `  revoke   ${cli} ACL SETUSER role:${DEV_ROLE} resetchannels`,
      `  restore  ${cli} ACL SETUSER role:${DEV_ROLE} allchannels`,
      '',
      'Ctrl-C ends it. For anything but development, write a configuration: see README.md.',
      '',
    ].join('\n'),
  )
}
