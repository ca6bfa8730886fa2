import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { RespcastError } from '../errors.ts'

/** The folder of the development profile, in the folder where the server is started. */
const DEV_DIR = '.respcast'

/** Claims of tokens of the development profile. */
export const DEV_ISSUER = { iss: 'respcast-dev', aud: 'respcast', claim: 'respcast' } as const

/** The role of the first token: all channels, to subscribe and to publish. */
export const DEV_ROLE = 'demo'

const KEY_FILE = 'dev-key'

/** The development profile, which holds when nothing is configured, or an upstream alone. */
export interface DevProfile {
  /** Directives, as on the command line. */
  readonly argv: readonly string[]
  /** The key that signs tokens. */
  readonly secret: Buffer
  /** The password of the user `admin`, new at every start. */
  readonly adminPassword: string
}

/**
 * Prepares the development profile: a folder with a signing key (made once, readable by its owner only), the role
 * `role:demo`, and an administrator with a random password. It listens on loopback only.
 *
 * @throws RespcastError `ERR_DATA_DIR` where the folder cannot be written, or others can get at the key.
 */
export function prepareDevProfile(cwd: string): DevProfile {
  const adminPassword = randomBytes(9).toString('base64url')
  return {
    secret: devKey(cwd),
    adminPassword,
    argv: [
      ...directive('dir', DEV_DIR),
      ...directive('jwt-issuer', DEV_ISSUER.iss),
      ...directive('jwt-audience', DEV_ISSUER.aud),
      ...directive('jwt-secret-file', KEY_FILE),
      // Nobody else would take its clients over.
      ...directive('drain-grace-seconds', '0'),
      ...directive('drain-seconds', '0'),
      ...directive('user', 'admin', 'on', `>${adminPassword}`, '~*', '&*', '+@all'),
      ...directive(
        'user',
        `role:${DEV_ROLE}`,
        'off',
        'allchannels',
        '+subscribe',
        '+psubscribe',
        '+ssubscribe',
        '+publish',
        '+spublish',
      ),
    ],
  }
}

/**
 * The signing key of the development profile, made if there is none yet.
 *
 * @throws RespcastError `ERR_DATA_DIR`
 */
export function devKey(cwd: string): Buffer {
  const folder = resolve(cwd, DEV_DIR)
  const path = join(folder, KEY_FILE)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (!existsSync(path)) {
      writeFileSync(path, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
    }
    refuseShared(folder, 0o022, 'chmod 700')
    refuseShared(path, 0o077, 'chmod 600')
    return readFileSync(path)
  } catch (error) {
    if (error instanceof RespcastError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new RespcastError(
      'ERR_DATA_DIR',
      `the development profile cannot write ${path} (${code}). Start the server where you may write, or with a ` +
        'configuration: respcast <file> or --directive value.',
      { cause: error },
    )
  }
}

/**
 * Others who can read the key mint tokens; others who can write it, or its folder, put their own there.
 *
 * @param bits Permissions that group and others must not have.
 */
function refuseShared(path: string, bits: number, remedy: string): void {
  const { mode, uid } = statSync(path)
  const me = process.getuid?.()
  // Windows has no such permissions.
  if (me === undefined) return
  const isForeign = uid !== me && uid !== 0
  if ((mode & bits) === 0 && !isForeign) return
  throw new RespcastError(
    'ERR_DATA_DIR',
    isForeign
      ? `${path} belongs to another user, who could mint tokens. Remove it; the next start makes a new one.`
      : `${path} has the mode ${(mode & 0o777).toString(8)}, so that others could mint tokens. Remove it for a new key, or ` +
          `run: ${remedy} ${path}`,
  )
}

function directive(name: string, ...values: readonly string[]): string[] {
  return [`--${name}`, ...values]
}
