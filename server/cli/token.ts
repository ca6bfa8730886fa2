import { systemClock } from '../clock.ts'
import { loadConfig } from '../config/load.ts'
import { Config } from '../config/store.ts'
import { Core } from '../gateway/core.ts'
import { DEV_ISSUER, devKey, prepareDevProfile } from '../gateway/dev-profile.ts'
import { silentLog } from '../log.ts'
import { MINT_FLAGS, readMintFlags } from '../token/mint-flags.ts'
import { mintToken } from '../token/mint.ts'

const USAGE = `Usage: respcast token mint --sub <text> [flags]
       respcast token verify <token> [file] [--directive value ...]

mint signs with the key of the development profile in this folder:
${MINT_FLAGS.map(([flag, text]) => `  ${flag.padEnd(26)} ${text}`).join('\n')}

verify says whether a configuration (by default the development profile) accepts a token, and what it grants.
`

/**
 * `respcast token mint|verify`.
 *
 * @returns The exit code.
 */
export async function tokenCommand(args: readonly string[]): Promise<number> {
  const [action, ...rest] = args
  if (action === 'mint' && !rest.includes('--help')) return mint(rest)
  if (action === 'verify' && rest[0] !== undefined && rest[0] !== '--help') {
    return verify(rest[0], rest.slice(1))
  }
  const asked = args.includes('--help')
  ;(asked ? process.stdout : process.stderr).write(USAGE)
  return asked ? 0 : 2
}

async function mint(args: readonly string[]): Promise<number> {
  const request = readMintFlags(args, DEV_ISSUER)
  if (typeof request === 'string') {
    process.stderr.write(`respcast token mint: ${request}\n\n${USAGE}`)
    return 2
  }
  const token = await mintToken(devKey(process.cwd()), request, systemClock)
  process.stdout.write(`${token}\n`)
  return 0
}

async function verify(token: string, argv: readonly string[]): Promise<number> {
  const input = { env: process.env, cwd: process.cwd() }
  let loaded = loadConfig({ ...input, argv })
  if (!loaded.isConfigured) {
    loaded = loadConfig({ ...input, argv: prepareDevProfile(input.cwd).argv })
  }
  const core = new Core({
    config: new Config(loaded),
    clock: systemClock,
    log: silentLog(),
    fetch: (url, init) => fetch(url, init),
    random: Math.random,
    atEndOfTurn: () => {},
    shutdown: () => {},
  })
  await core.start()
  const result = await core.inspectToken(token)
  core.stop()
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  return result.accepted ? 0 : 1
}
