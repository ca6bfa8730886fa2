import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hashPassword } from '../acl/password.ts'
import { RespcastError } from '../errors.ts'
import { SECRET_MODE } from '../files.ts'

const USAGE = `Usage: respcast init [folder] [--issuer <text>] [--audience <text>]

Writes a configuration to start from into a folder, by default this one: respcast.conf, users.acl with an administrator and a
role, and jwt-secret, which signs tokens. It replaces no file.

  --issuer <text>    the exact iss of your tokens, respcast by default
  --audience <text>  the aud that names this server, respcast by default
`

/** Flags of `respcast init`, each followed by its value. */
export const INIT_FLAGS: readonly string[] = ['--issuer', '--audience']

const CONFIGURATION = 'respcast.conf'
const USERS = 'users.acl'
const SECRET = 'jwt-secret'

/** The role of the first tokens. */
const ROLE = 'member'

/** The user with the most that tokens may grant. */
const CEILING = 'browsers'

/** Answers to the flags of `respcast init`. */
interface InitOptions {
  readonly folder: string
  readonly issuer: string
  readonly audience: string
}

/**
 * `respcast init [folder] [--issuer text] [--audience text]`.
 *
 * @returns The exit code: 0, or 2 for a command line that is not understood.
 * @throws RespcastError `ERR_DATA_DIR`: one of the files is there, or cannot be written. None is written then.
 */
export function init(args: readonly string[]): number {
  const options = readOptions(args)
  if (options === undefined) {
    const isAsked = args.includes('--help')
    ;(isAsked ? process.stdout : process.stderr).write(USAGE)
    return isAsked ? 0 : 2
  }
  const folder = resolve(options.folder)
  const password = randomBytes(12).toString('base64url')
  const files: readonly (readonly [string, string])[] = [
    [SECRET, `${randomBytes(32).toString('base64url')}\n`],
    [USERS, usersText(password)],
    [CONFIGURATION, configurationText(options)],
  ]
  const present = files.map(([name]) => join(folder, name)).find((path) => existsSync(path))
  if (present !== undefined) {
    throw new RespcastError(
      'ERR_DATA_DIR',
      `${present} is there already, and nothing was written. Name another folder: respcast init <folder>`,
    )
  }
  const written: string[] = []
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const [name, text] of files) {
      const path = join(folder, name)
      // All of them say who may come in.
      writeFileSync(path, text, { mode: SECRET_MODE, flag: 'wx' })
      written.push(path)
    }
  } catch (error) {
    for (const path of written) rmSync(path, { force: true })
    const { message } = error as Error
    throw new RespcastError('ERR_DATA_DIR', `cannot write into ${folder}: ${message}`, {
      cause: error,
    })
  }
  process.stdout.write(nextSteps(options.folder, password))
  return 0
}

function readOptions(args: readonly string[]): InitOptions | undefined {
  const flags = new Map(INIT_FLAGS.map((flag) => [flag, 'respcast']))
  const rest = [...args]
  const folder = rest[0] === undefined || rest[0].startsWith('-') ? '.' : (rest.shift() as string)
  while (rest.length > 0) {
    const [flag = '', value = ''] = rest.splice(0, 2)
    // One word of the configuration file.
    if (!flags.has(flag) || !/^[^\s"'\\]+$/.test(value)) return undefined
    flags.set(flag, value)
  }
  return {
    folder,
    issuer: flags.get('--issuer') ?? '',
    audience: flags.get('--audience') ?? '',
  }
}

function usersText(password: string): string {
  return [
    'user default off',
    `user admin on #${hashPassword(password)} allkeys allchannels +@all`,
    `user role:${ROLE} off resetchannels ` +
      '(resetchannels +subscribe +psubscribe +ssubscribe &news:* &user:{sub}:*) ' +
      '(resetchannels +publish +spublish &typing:{sub})',
    `user ${CEILING} off resetchannels &news:* &user:* &typing:* ` +
      '+subscribe +psubscribe +ssubscribe +publish +spublish',
    '',
  ].join('\n')
}

function configurationText({ issuer, audience }: InitOptions): string {
  return `# docs/directives.md lists every directive. respcast --check respcast.conf says what is wrong, and what is open.

# RESP for backends, the WebSocket for browsers, the console and /metrics for operators. All on loopback: http-bind and
# ws-allowed-origins let browsers of other machines in.
port 6380
http-port 8080
admin-port 8081

# Users, and roles that tokens name. ACL SAVE and acl-autosave write it.
aclfile ${USERS}
acl-autosave yes

# The issuer of tokens: its exact iss, the aud that names this server, and a secret that both know (HS256). For an issuer with
# public keys: jwt-jwks-url, or jwt-public-key-file, and jwt-algorithms.
jwt-issuer ${issuer}
jwt-audience ${audience}
jwt-secret-file ${SECRET}

# Nothing beyond what this user may is granted, whatever a token says.
jwt-ceiling ${CEILING}
`
}

function nextSteps(folder: string, password: string): string {
  const into = folder === '.' ? '' : `  cd ${folder}\n`
  return `Written: ${CONFIGURATION}, ${USERS} and ${SECRET}, readable by you only.

The administrator is admin, with the password ${password}
It is not shown again. To choose another: ACL SETUSER admin resetpass ><password>

Start the server. Its console is http://127.0.0.1:8081/

${into}  npx respcast ${CONFIGURATION}

Make a token for a browser, and publish to it:

${into}  npx respcast token mint ${CONFIGURATION} --sub 42 --role ${ROLE}
  redis-cli -p 6380 --user admin --askpass PUBLISH news:all hello
`
}
