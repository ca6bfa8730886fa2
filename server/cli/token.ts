import { readFileSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import { issuersOf } from '../config/issuers.ts'
import type { Settings } from '../config/settings.ts'
import type { Core } from '../core.ts'
import { ArgumentList } from '../resp/request.ts'
import { EXPLANATION_FIELDS, type Explanation } from '../token/explain/explain.ts'
import type { Question } from '../token/explain/fix.ts'
import { mintToken } from '../token/mint.ts'
import { fromByteString, toByteString } from '../token/text.ts'
import { readSecretFile } from '../token/verify/key-set.ts'
import { withOfflineCore } from './configuration.ts'
import { MINT_FLAGS, readMintFlags, type MintDefaults } from './mint-flags.ts'

const USAGE = `Usage: respcast token mint [file] --sub <text> [flags]
       respcast token verify <token> [file] [--directive value ...]
       respcast token explain <token> [file] [--directive value ...] [-- <command> <arg> ...]

mint signs with the secret of an issuer of that configuration (of the development profile in this folder without a file), and
prints no token that its server would refuse:
${MINT_FLAGS.map(([flag, text]) => `  ${flag.padEnd(26)} ${text}`).join('\n')}

verify says whether a configuration (by default the development profile) accepts a token, and what it grants. explain says
what allows or denies it, or one command that its owner wants to run. Nobody is logged in by it, and the revocations in dir
count. The token - is read from standard input, where other users of the machine do not see it.
`

/**
 * `respcast token mint|verify|explain`.
 *
 * @returns The exit code: 0 for yes, 1 for no, 2 for a command line that is not understood.
 */
export async function tokenCommand(args: readonly string[]): Promise<number> {
  const [action, ...rest] = args
  const [first, ...others] = rest
  if (action === 'mint' && !rest.includes('--help')) return mint(rest)
  if (first !== undefined && first !== '--help') {
    if (action === 'verify') return verify(readToken(first), others)
    if (action === 'explain') return explain(readToken(first), others)
  }
  const asked = args.includes('--help')
  ;(asked ? process.stdout : process.stderr).write(USAGE)
  return asked ? 0 : 2
}

function readToken(word: string): string {
  return word === '-' ? readFileSync(0, 'latin1').trim() : word
}

async function mint(args: readonly string[]): Promise<number> {
  const file = args[0] === undefined || args[0].startsWith('--') ? [] : [args[0]]
  return withOfflineCore(file, async (core) => {
    const signer = signerOf(core.config, flagValue(args, '--iss'))
    if (typeof signer === 'string') return failed('mint', signer, 1)
    const request = readMintFlags(args.slice(file.length), signer)
    if (typeof request === 'string') return failed('mint', `${request}\n\n${USAGE}`, 2)
    const token = await mintToken(signer.secret, request, systemClock)
    const inspected = await core.inspectToken(token)
    if (!inspected.accepted) {
      return failed('mint', `the server would refuse this token: ${inspected.detail}`, 1)
    }
    process.stdout.write(`${token}\n`)
    return 0
  })
}

/** @returns The exit code. */
function failed(action: string, reason: string, code: number): number {
  process.stderr.write(`respcast token ${action}: ${reason.trimEnd()}\n`)
  return code
}

function flagValue(args: readonly string[], flag: string): string | undefined {
  const at = args.indexOf(flag)
  return at < 0 ? undefined : args[at + 1]
}

/** What `respcast token mint` signs with, and what it fills in. */
interface Signer extends MintDefaults {
  readonly secret: Uint8Array
}

/**
 * Finds an issuer that signs with a secret.
 *
 * @param iss Its name; by default the first one is taken.
 * @returns The error as a sentence if there is none.
 * @throws RespcastError `ERR_CONFIG`: its secret cannot be read.
 */
export function signerOf(settings: Settings, iss: string | undefined): Signer | string {
  const issuers = issuersOf(settings).filter(
    ({ issuer }) => iss === undefined || fromByteString(issuer) === iss,
  )
  const found = issuers.find(({ secret, secretFile }) => secret !== '' || secretFile !== '')
  if (found === undefined) {
    return iss !== undefined && issuers.length === 0
      ? `no issuer '${iss}' is configured`
      : 'no issuer with a secret is configured. Tokens of public keys are minted where the private key is: docs/minting.md'
  }
  const { issuer, audience, claim, secret, secretFile, alias } = found
  const directive = alias === undefined ? 'jwt-secret-file' : `issuer ${alias} secret-file`
  return {
    iss: fromByteString(issuer),
    aud: fromByteString(audience[0] ?? ''),
    claim: fromByteString(claim),
    secret:
      secret === ''
        ? readSecretFile({ directive, path: secretFile })
        : Buffer.from(secret, 'latin1'),
  }
}

async function verify(token: string, argv: readonly string[]): Promise<number> {
  const result = await withOfflineCore(argv, async (core) => {
    const inspected = await core.inspectToken(token)
    if (!inspected.accepted) return inspected
    // Circumstances outside the token may refuse it too.
    const { allowed, revocation, ceiling } = await core.explainer.explainToken(token)
    if (allowed) return inspected
    const reply = revocation === undefined ? 'WRONGPASS invalid token' : 'WRONGPASS token revoked'
    const detail = revocation === undefined ? `its ceiling ${ceiling} is off` : revocation
    return { accepted: false, reply, detail: fromByteString(detail) }
  })
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  return result.accepted ? 0 : 1
}

function explain(token: string, args: readonly string[]): Promise<number> {
  const end = args.indexOf('--')
  const argv = end < 0 ? args : args.slice(0, end)
  const words = end < 0 ? [] : args.slice(end + 1)
  return withOfflineCore(argv, async (core) => {
    const question = words.length === 0 ? undefined : questionOf(core, words)
    if (typeof question === 'string') return failed('explain', question, 2)
    const explanation = await core.explainer.explainToken(token, question)
    process.stdout.write(explanationText(explanation))
    return explanation.allowed ? 0 : 1
  })
}

/**
 * Reads a command line that is to be explained.
 *
 * @returns The command, or the error as a sentence.
 */
export function questionOf(core: Core, words: readonly string[]): Question | string {
  const request = ArgumentList.of(...words.map(toByteString))
  const command = core.table.find(request)
  if (command === undefined) return `there is no command '${words[0] ?? ''}'`
  const { channels, name } = command.acl
  if (channels !== undefined && channels.kind !== 'none' && request.count <= channels.first) {
    return `${name} needs a channel`
  }
  return { entry: command.acl, request }
}

/** An explanation for people: one line for each field that applies. */
export function explanationText(explanation: Explanation): string {
  const lines = [['allowed', explanation.allowed ? 'yes' : 'no']]
  for (const field of EXPLANATION_FIELDS) {
    const value = explanation[field]
    if (value !== undefined) lines.push([field, fromByteString(value)])
  }
  return lines.map(([name = '', value = '']) => `${name.padEnd(10)} ${value}\n`).join('')
}
