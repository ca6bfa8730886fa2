import { statSync } from 'node:fs'
import { isLoopback, leavesLoopback } from '../addresses.ts'
import { DIRECTIVES } from '../config/directives.ts'
import { issuersOf, type IssuerSettings } from '../config/issuers.ts'
import { isAdminExposed, listensOnTcp, servesTheWorld } from '../config/listeners.ts'
import { openFilesLimit } from '../config/open-files.ts'
import type { Config } from '../config/store.ts'
import type { Core } from '../core.ts'
import { upstreamOf } from '../upstream/settings.ts'

/** Something that a configuration leaves open, in one line that names the remedy and no secret. */
export interface Opening {
  /** The directive to change. */
  readonly directive: string
  readonly text: string
}

/** Descriptors that are no clients: listeners, files, connections over HTTP. */
const OTHER_FILES = 64

/** Others may neither read nor write it, the group may read it. */
const SECRET = 0o027
/** None but its owner may write it. */
const TRUSTED = 0o022

/** The facts of this machine that a check looks at. */
export interface Machine {
  /** Limit of open files; undefined where it is not known. */
  readonly openFiles: number | undefined
}

/** The machine that this process runs on. */
export function thisMachine(): Machine {
  return { openFiles: openFilesLimit() }
}

/**
 * Lists what a configuration leaves open though the server would start with it: the warnings of `respcast --check`.
 *
 * @param core Made of the configuration, with its users loaded.
 */
export function openingsOf(core: Core, machine: Machine): Opening[] {
  const { config } = core
  return [
    ...fileOpenings(config),
    ...inertOpenings(config),
    ...openFilesOpenings(config, machine),
    ...adminOpenings(config),
    ...respOpenings(core),
    ...issuersOf(config).flatMap(ceilingOpenings),
    ...browserOpenings(config),
    ...upstreamOpenings(config),
  ]
}

function fileOpenings(config: Config): Opening[] {
  const issuers = issuersOf(config)
  const keyFile = config.path('tls-key-file')
  return [
    ...(config.file === undefined
      ? []
      : fileOpening('configuration file', config.file, holdsSecrets(config) ? SECRET : TRUSTED)),
    ...fileOpening('dir', config.path('dir'), TRUSTED),
    ...fileOpening('aclfile', config.path('aclfile'), SECRET),
    ...fileOpening('metrics-token-file', config.path('metrics-token-file'), SECRET),
    ...fileOpening('tls-key-file', keyFile, SECRET),
    ...fileOpening('tls-client-key-file', config.path('tls-client-key-file'), SECRET),
    ...fileOpening('tls-cert-file', config.path('tls-cert-file'), TRUSTED),
    ...fileOpening('tls-ca-cert-file', config.path('tls-ca-cert-file'), TRUSTED),
    ...fileOpening('tls-ca-cert-dir', config.path('tls-ca-cert-dir'), TRUSTED),
    ...fileOpening('upstream-password-file', config.path('upstream-password-file'), SECRET),
    ...fileOpening(
      'upstream-sentinel-password-file',
      config.path('upstream-sentinel-password-file'),
      SECRET,
    ),
    ...fileOpening('upstream-tls-key-file', config.path('upstream-tls-key-file'), SECRET),
    ...fileOpening('upstream-tls-cert-file', config.path('upstream-tls-cert-file'), TRUSTED),
    ...fileOpening('upstream-tls-ca-cert-file', config.path('upstream-tls-ca-cert-file'), TRUSTED),
    ...fileOpening('upstream-control-key-file', config.path('upstream-control-key-file'), SECRET),
    ...fileOpening('token-log-file', config.path('token-log-file'), SECRET),
    ...fileOpening('token-audit-file', config.path('token-audit-file'), SECRET),
    ...issuers.flatMap((issuer) => [
      ...fileOpening(propertyOf(issuer, 'secret-file'), issuer.secretFile, SECRET),
      ...fileOpening(propertyOf(issuer, 'previous-secret-file'), issuer.previousSecretFile, SECRET),
      ...fileOpening(propertyOf(issuer, 'jwks-file'), issuer.jwksFile, TRUSTED),
      ...fileOpening(propertyOf(issuer, 'public-key-file'), issuer.publicKeyFile, TRUSTED),
    ]),
  ]
}

/** @param bits Permissions that it must not have. */
function fileOpening(directive: string, path: string, bits: number): Opening[] {
  const me = process.getuid?.()
  // Windows has no such permissions.
  if (path === '' || me === undefined) return []
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return []
  const openings: Opening[] = []
  const mode = found.mode & 0o777
  if ((mode & bits) !== 0) {
    const who = (mode & bits & 0o022) === 0 ? 'others can read' : 'others can change'
    openings.push({
      directive,
      text: `${path} has the mode ${mode.toString(8)}: ${who} it. Run: chmod ${(mode & ~bits).toString(8)} ${path}`,
    })
  }
  if (found.uid !== me && found.uid !== 0) {
    const text = `${path} belongs to the user ${found.uid}, who can change it. Give it to root or to the server's user.`
    openings.push({ directive, text })
  }
  return openings
}

/** Reports whether the file itself gives a secret. */
function holdsSecrets(config: Config): boolean {
  return DIRECTIVES.some(
    ({ name, sensitive }) => sensitive === true && config.isWritten(name, 'file'),
  )
}

function inertOpenings({ withoutEffect }: Config): Opening[] {
  if (withoutEffect.length === 0) return []
  const names = withoutEffect.join(', ')
  return [
    {
      directive: withoutEffect[0] ?? '',
      text: `without effect in this server: ${names}. Remove them, so that nobody relies on them.`,
    },
  ]
}

function openFilesOpenings(config: Config, { openFiles }: Machine): Opening[] {
  const needed = config.integer('maxclients') + OTHER_FILES
  if (openFiles === undefined || openFiles >= needed) return []
  const text =
    `maxclients ${config.integer('maxclients')} needs about ${needed} open files, and the limit here is ${openFiles}. ` +
    "Raise LimitNOFILE or 'ulimit -n', or lower maxclients."
  return [{ directive: 'maxclients', text }]
}

function adminOpenings(config: Config): Opening[] {
  if (!isAdminExposed(config)) return []
  const openings: Opening[] = []
  if (!config.boolean('http-tls')) {
    openings.push({
      directive: 'admin-insecure',
      text: 'administrators log in beyond loopback in plain HTTP. Set http-tls yes, or bind admin-bind to loopback.',
    })
  }
  const isGuarded =
    config.text('metrics-token') !== '' ||
    config.text('metrics-token-file') !== '' ||
    (config.boolean('http-tls') && config.choice('admin-tls-auth-clients') === 'yes')
  if (config.boolean('admin-insecure') && !isGuarded) {
    openings.push({
      directive: 'metrics-token-file',
      text: 'whoever reaches admin-bind reads /metrics. Set metrics-token-file.',
    })
  }
  return openings
}

function respOpenings({ config, users }: Core): Opening[] {
  const openings: Opening[] = []
  const onSocket = config.text('unixsocket') !== ''
  if (users.defaultIsOpen && (listensOnTcp(config) || onSocket)) {
    openings.push({
      directive: 'requirepass',
      text: 'the user default needs no password. Set requirepass, or user default off and other users.',
    })
    if (!config.boolean('protected-mode')) {
      const text = 'no keeps nobody out while the user default needs no password. Set it to yes.'
      openings.push({ directive: 'protected-mode', text })
    }
  }
  if (config.integer('port') !== 0 && leavesLoopback(config.list('bind'))) {
    openings.push({
      directive: 'port',
      text: 'passwords and messages go beyond loopback in plain TCP. Set port 0 and tls-port, or bind to loopback.',
    })
  }
  if (onSocket && (config.integer('unixsocketperm') & 0o002) !== 0) {
    const text = 'every user of this machine may connect to the Unix socket. Set it to 770 or 700.'
    openings.push({ directive: 'unixsocketperm', text })
  }
  if (config.choice('enable-protected-configs') !== 'no') {
    const text = 'CONFIG SET may change where files are written. Set it to no.'
    openings.push({ directive: 'enable-protected-configs', text })
  }
  return openings
}

function ceilingOpenings(issuer: IssuerSettings): Opening[] {
  if (issuer.ceiling !== '') return []
  const who = issuer.alias === undefined ? 'the default issuer' : `the issuer ${issuer.alias}`
  return [
    {
      directive: propertyOf(issuer, 'ceiling'),
      text: `nothing bounds what tokens of ${who} may grant. Make an ACL user with the most that they may, and name it here.`,
    },
  ]
}

function browserOpenings(config: Config): Opening[] {
  const openings: Opening[] = []
  const add = (directive: string, text: string): void => void openings.push({ directive, text })
  if (config.list('ws-allowed-origins').includes('*')) {
    add(
      'ws-allowed-origins',
      '* lets every page of the web connect. Name the origins of your pages.',
    )
  }
  if (config.boolean('ws-token-query')) {
    add('ws-token-query', 'tokens in addresses end up in logs of proxies. Set it to no.')
  }
  if (config.list('trusted-proxies').some((network) => /\/0+$/.test(network))) {
    add('trusted-proxies', 'every peer may claim any address. Name the addresses of your proxies.')
  }
  if (!servesTheWorld(config)) return openings
  if (!config.boolean('http-tls') && config.list('trusted-proxies').length === 0) {
    add(
      'http-tls',
      'tokens go beyond loopback in plain HTTP. Set http-tls yes, or trusted-proxies if a proxy speaks TLS.',
    )
  }
  if (config.choice('acl-pubsub-default') === 'allchannels') {
    add('acl-pubsub-default', 'a token without channels may subscribe to all. Set resetchannels.')
  }
  for (const { name, beyondLoopback } of DIRECTIVES) {
    if (beyondLoopback !== undefined && config.get([name])[0]?.[1] === '0') {
      add(
        name,
        `0 is no limit for strangers. Remove it for the default beyond loopback, ${beyondLoopback}.`,
      )
    }
  }
  return openings
}

function upstreamOpenings(config: Config): Opening[] {
  const address = upstreamOf(config)
  if (address === undefined || address.tls) return []
  if (address.nodes.every(({ host }) => isLoopback(host))) return []
  const text =
    'passwords and messages go to the upstream in plain TCP, beyond loopback. Write rediss in place of redis.'
  return [{ directive: 'upstream', text }]
}

/** A property of an issuer as its line begins. */
function propertyOf({ alias }: IssuerSettings, property: string): string {
  return alias === undefined ? `jwt-${property}` : `issuer ${alias} ${property}`
}
