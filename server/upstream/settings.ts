import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { NameOf } from '../config/directives.ts'
import type { Settings } from '../config/settings.ts'
import type { Config } from '../config/store.ts'
import { RespcastError } from '../errors.ts'
import { readNamedFile } from '../files.ts'
import { parseUpstream, type UpstreamAddress } from './address.ts'

/** A login; byte strings. */
export interface Credentials {
  /** Undefined: the user `default`. */
  readonly user: string | undefined
  readonly password: string
}

/** Options of a TLS connection to the upstream, beside its host and port. */
export interface UpstreamTls extends SecureContextOptions {
  /** The name to ask for (SNI) and to verify; undefined: the host. */
  readonly servername: string | undefined
}

type TextName = NameOf<'string'>

const CREDENTIALS: readonly TextName[] = [
  'upstream-user',
  'upstream-password',
  'upstream-password-file',
]
const OF_SENTINELS: readonly TextName[] = [
  'upstream-sentinel-user',
  'upstream-sentinel-password-file',
]
const TLS: readonly TextName[] = [
  'upstream-tls-ca-cert-file',
  'upstream-tls-cert-file',
  'upstream-tls-key-file',
  'upstream-tls-server-name',
]

/** The upstream of a configuration that was checked; undefined where the gateway is alone. */
export function upstreamOf(settings: Settings): UpstreamAddress | undefined {
  const text = settings.text('upstream')
  if (text === '') return undefined
  const address = parseUpstream(text)
  if (typeof address === 'string') throw new RespcastError('ERR_CONFIG', `upstream: ${address}`)
  return address
}

/**
 * The login for the upstream, of `upstream-user`, and of `upstream-password-file` or `upstream-password`. The file is read at
 * each call, so that a new password counts from the next connect on.
 *
 * @returns Undefined where no password is set.
 * @throws RespcastError `ERR_CONFIG` names the directive and the file, and never repeats what is in it.
 */
export function upstreamCredentials(settings: Settings): Credentials | undefined {
  const fromFile = readPassword(settings, 'upstream-password-file')
  const password = fromFile ?? settings.text('upstream-password')
  return password === '' ? undefined : { user: userOf(settings, 'upstream-user'), password }
}

/** The login for the sentinels. See {@link upstreamCredentials}. */
export function sentinelCredentials(settings: Settings): Credentials | undefined {
  const password = readPassword(settings, 'upstream-sentinel-password-file')
  if (password === undefined) return undefined
  return { user: userOf(settings, 'upstream-sentinel-user'), password }
}

/**
 * The TLS options for nodes and sentinels; the files are read at each call, so that a new certificate counts from the next connect on.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive and the file at fault.
 */
export function upstreamTls(settings: Settings): UpstreamTls {
  const options: UpstreamTls = {
    ca: readAuthorities(settings),
    cert: readPem(settings, 'upstream-tls-cert-file'),
    key: readPem(settings, 'upstream-tls-key-file'),
    servername: settings.text('upstream-tls-server-name') || undefined,
    minVersion: 'TLSv1.2',
  }
  try {
    createSecureContext(options)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new RespcastError(
      'ERR_CONFIG',
      `upstream-tls-cert-file: the files of upstream-tls- cannot be used (${code}). ` +
        'Give PEM files, and the key that belongs to the certificate.',
      { cause: error },
    )
  }
  return options
}

/**
 * Reads the files that links to the upstream need, as each connect does.
 *
 * @throws RespcastError `ERR_CONFIG`: one cannot be used.
 */
export function checkUpstreamFiles(settings: Settings): void {
  const address = upstreamOf(settings)
  if (address === undefined) return
  upstreamCredentials(settings)
  sentinelCredentials(settings)
  if (address.tls) upstreamTls(settings)
}

/**
 * Refuses an `upstream` that cannot be used, and what would be set beside it without effect: an operator who set a certificate
 * or a password believes that it is used.
 */
export function addUpstreamValidators(config: Config): void {
  const read = (settings: Settings): UpstreamAddress | string | undefined => {
    const text = settings.text('upstream')
    return text === '' ? undefined : parseUpstream(text)
  }
  /** The first of these directives that is set. */
  const firstSet = (settings: Settings, names: readonly TextName[]): TextName | undefined =>
    names.find((name) => settings.text(name) !== '')
  config.addValidator(['upstream'], (settings) => {
    const address = read(settings)
    return typeof address === 'string' ? address : undefined
  })
  config.addValidator([...CREDENTIALS, ...OF_SENTINELS, ...TLS], (settings) => {
    const name = firstSet(settings, [...CREDENTIALS, ...OF_SENTINELS, ...TLS])
    if (name === undefined || settings.text('upstream') !== '') return undefined
    return `${name} is set, and there is no upstream, so that this gateway would run alone; set upstream, or remove ${name}`
  })
  config.addValidator(TLS, (settings) => {
    const address = read(settings)
    const name = firstSet(settings, TLS)
    if (name === undefined || typeof address !== 'object' || address.tls) return undefined
    return `${name} is set, and upstream does not speak TLS, so that messages would go in plain TCP; write rediss in place of redis in upstream, or remove ${name}`
  })
  config.addValidator(OF_SENTINELS, (settings) => {
    const address = read(settings)
    const name = firstSet(settings, OF_SENTINELS)
    if (name === undefined || typeof address !== 'object' || address.kind === 'sentinel') {
      return undefined
    }
    return `${name} is set, and upstream names no sentinels; write redis+sentinel:// in upstream, or remove ${name}`
  })
  config.addValidator(['upstream-password', 'upstream-password-file'], (settings) => {
    const both =
      settings.text('upstream-password') !== '' && settings.text('upstream-password-file') !== ''
    return both
      ? 'the password is in upstream-password and in upstream-password-file; remove one of them'
      : undefined
  })
  config.addValidator(['upstream-user'], (settings) => {
    if (settings.text('upstream-user') === '') return undefined
    if (firstSet(settings, ['upstream-password', 'upstream-password-file'])) return undefined
    return 'upstream-user without a password cannot log in; set upstream-password-file'
  })
  config.addValidator(['upstream-sentinel-user'], (settings) => {
    if (settings.text('upstream-sentinel-user') === '') return undefined
    if (settings.text('upstream-sentinel-password-file') !== '') return undefined
    return 'upstream-sentinel-user without a password cannot log in; set upstream-sentinel-password-file'
  })
  config.addValidator(['upstream-tls-cert-file', 'upstream-tls-key-file'], (settings) => {
    const [cert, key] = [
      settings.text('upstream-tls-cert-file'),
      settings.text('upstream-tls-key-file'),
    ]
    return (cert === '') === (key === '')
      ? undefined
      : 'a certificate and its key go together; set both upstream-tls-cert-file and upstream-tls-key-file, or neither'
  })
}

function userOf(settings: Settings, name: TextName): string | undefined {
  return settings.text(name) || undefined
}

/** Spaces and line ends around a password; of its bytes, not of what Unicode calls white space. */
const AROUND = /^[ \t\r\n]+|[ \t\r\n]+$/g

/** @returns A byte string; undefined where no file is set. */
function readPassword(settings: Settings, name: TextName): string | undefined {
  if (settings.text(name) === '') return undefined
  const password = readFile(settings, name).toString('latin1').replace(AROUND, '')
  if (password !== '' && !/[\r\n]/.test(password)) return password
  throw new RespcastError(
    'ERR_CONFIG',
    `${name} ${settings.path(name)}: ${password === '' ? 'is empty' : 'has more than one line'}. Write the password alone into it.`,
  )
}

/** The runtime takes a file without a certificate for no authority at all, and then trusts nobody. */
function readAuthorities(settings: Settings): Buffer | undefined {
  const name = 'upstream-tls-ca-cert-file'
  const pem = readPem(settings, name)
  if (pem === undefined || pem.includes('CERTIFICATE-----')) return pem
  throw new RespcastError(
    'ERR_CONFIG',
    `${name} ${settings.path(name)}: holds no certificate. Give a PEM file.`,
  )
}

function readPem(settings: Settings, name: TextName): Buffer | undefined {
  return settings.text(name) === '' ? undefined : readFile(settings, name)
}

function readFile(settings: Settings, name: TextName): Buffer {
  return readNamedFile(name, settings.path(name))
}
