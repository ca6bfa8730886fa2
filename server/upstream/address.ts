import { isIP, isIPv6 } from 'node:net'
import type { Node } from './node.ts'

/** The Redis or Valkey that gateways share, as the directive `upstream` names it. */
export interface UpstreamAddress {
  readonly kind: 'standalone' | 'sentinel' | 'cluster'
  readonly tls: boolean
  /** The server; the sentinels; or some nodes of the cluster, from which the others are learnt. Each once. */
  readonly nodes: readonly Node[]
  /** The name by which sentinels know the master. */
  readonly masterName?: string
}

const KINDS: ReadonlyMap<string, Pick<UpstreamAddress, 'kind' | 'tls'>> = new Map([
  ['redis', { kind: 'standalone', tls: false }],
  ['rediss', { kind: 'standalone', tls: true }],
  ['redis+sentinel', { kind: 'sentinel', tls: false }],
  ['rediss+sentinel', { kind: 'sentinel', tls: true }],
  ['redis+cluster', { kind: 'cluster', tls: false }],
  ['rediss+cluster', { kind: 'cluster', tls: true }],
])

const DEFAULT_PORT = 6379
const SENTINEL_PORT = 26_379

const FORMS =
  'write redis://host:port, redis+sentinel://host,host,host/name or redis+cluster://host,host, and rediss for TLS'

/**
 * Reads the value of the directive `upstream`: `redis://host[:port][/0]`, `redis+sentinel://host[:port],.../name` or
 * `redis+cluster://host[:port],...`; with `rediss` in place of `redis` over TLS. IPv6 addresses stand in brackets.
 *
 * @param text A byte string.
 * @returns The address, or the reason why it is none, with a remedy. No part of the text is repeated: it may hold a password.
 */
export function parseUpstream(text: string): UpstreamAddress | string {
  const [, scheme = '', rest = ''] = /^([^:]*):\/\/(.*)$/s.exec(text) ?? []
  const form = KINDS.get(scheme.toLowerCase())
  // A password may hold any character, so it is looked for before anything else.
  const credentials = rest.lastIndexOf('@')
  if (credentials !== -1) {
    return rest.slice(0, credentials).includes(':')
      ? 'the URL holds a password; set upstream-password-file instead, and upstream-user for the user'
      : 'the URL holds a user; set upstream-user instead, and upstream-password-file for the password'
  }
  if (!form) return `it has no scheme that is known here (that of a Valkey is redis too); ${FORMS}`
  if (/[?#]/.test(rest))
    return 'the URL takes no parameters; set the directives that begin with upstream-'
  const slash = rest.indexOf('/')
  const path = slash === -1 ? '' : rest.slice(slash + 1)
  const nodes = readNodes(
    (slash === -1 ? rest : rest.slice(0, slash)).split(','),
    form.kind === 'sentinel' ? SENTINEL_PORT : DEFAULT_PORT,
  )
  if (typeof nodes === 'string') return nodes
  switch (form.kind) {
    case 'standalone':
      if (nodes.length > 1) {
        return 'redis:// is one server; write redis+sentinel:// before sentinels, or redis+cluster:// before nodes of a cluster'
      }
      if (path !== '' && path !== '0')
        return 'Pub/Sub knows no databases; write the URL without one'
      return { ...form, nodes }
    case 'cluster':
      if (path !== '')
        return 'a cluster has neither a name nor databases; write the URL without a path'
      return { ...form, nodes }
    case 'sentinel':
      if (path === '') {
        return 'the name of the master is missing; write it at the end, as in redis+sentinel://host,host,host/mymaster'
      }
      if (!/^[\w.-]+$/.test(path)) {
        return 'the name of a master consists of letters, digits, dots, hyphens and underscores; write the one that the sentinels know'
      }
      return { ...form, nodes, masterName: path }
  }
}

function readNodes(texts: readonly string[], defaultPort: number): Node[] | string {
  const nodes = new Map<string, Node>()
  for (const text of texts) {
    const node = readNode(text, defaultPort)
    if (typeof node === 'string') return node
    const key = `${node.host} ${node.port}`
    // A sentinel that counted twice would be a majority too early.
    if (nodes.has(key)) return 'one host stands twice; name each once'
    nodes.set(key, node)
  }
  return [...nodes.values()]
}

function readNode(text: string, defaultPort: number): Node | string {
  const [, address, name, portText] = /^(?:\[([^[\]]*)\]|([^:[\]]+))(?::(.*))?$/s.exec(text) ?? []
  if (text === '' || /^:\d*$/.test(text)) return `a host is missing; ${FORMS}`
  const host = (address ?? name ?? '').toLowerCase()
  const isGood = name === undefined ? isIPv6(host) : isHost(name) && !portText?.includes(':')
  if (!isGood) {
    return 'a host is neither a name nor an IP address; an IPv6 address stands in brackets, as in redis://[::1]:6379'
  }
  const port = portText === undefined ? defaultPort : Number(portText)
  if (portText !== undefined && (!/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535)) {
    return 'a port is a number from 1 to 65535; give it after the host, as in redis://127.0.0.1:6379'
  }
  return { host, port }
}

function isHost(text: string): boolean {
  if (/^[\d.]+$/.test(text)) return isIP(text) === 4
  return text.length <= 253 && /^[\w-]+(\.[\w-]+)*\.?$/.test(text)
}
