import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { hostAndPort, LocalAddress, type SocketAddresses } from '../addresses.ts'
import type { TransportName } from '../client/client.ts'
import type { Settings } from '../config/settings.ts'
import { RespcastError } from '../errors.ts'
import { mostHandshakes } from '../config/open-files.ts'
import { FULL, TOO_FAST, type Admission } from './admission.ts'
import { ProxyHeaders } from './proxy-headers.ts'
import type { ProxiedClient } from './proxy-protocol.ts'
import {
  forgetAddresses,
  readAsStream,
  readHead,
  SharedReadBuffer,
  SocketSink,
  type ReadableSocket,
} from './raw-socket.ts'
import { connectTcp, type ReceptionHost } from './reception.ts'
import { changeTls, isPeerAllowed, type ServerTls } from './tls.ts'
import { addressesOf, WaitingSockets } from './waiting-sockets.ts'

/** The parts of the core that RESP listeners work with. */
interface TcpHost extends ReceptionHost {
  readonly admission: Admission
  readonly config: Settings
}

/** Origin of a connection. */
interface TcpPeer {
  readonly transport: TransportName
  /** The peer's IP address; empty for a Unix socket. */
  readonly ip: string
  /** `ip:port`, `[ip]:port` or `path:0`. */
  readonly address: string
  readonly localAddress: string
}

/** An address to listen on. */
export type TcpEndpoint =
  | {
      readonly kind: 'tcp'
      readonly host: string
      readonly port: number
      readonly backlog: number
      /** Listens already, and was handed over: host and port are those of the socket. */
      readonly descriptor?: number
    }
  | {
      readonly kind: 'tls'
      readonly host: string
      readonly port: number
      readonly backlog: number
      readonly tls: ServerTls
    }
  | { readonly kind: 'unix'; readonly path: string; readonly mode: number }

/** A listener that is open. */
export interface Listener {
  /** Its address, for people. */
  readonly address: string
  /** The address that it is bound to; empty for a Unix socket. */
  readonly host: string
  /** The port; 0 for a Unix socket. */
  readonly port: number
  /** Stops accepting; connections live on. */
  close(): void
  /** Uses other certificates for connections to come; does nothing on a plain listener. */
  setTls(options: ServerTls): void
}

const PROTECTED_MODE =
  '-DENIED Respcast is running in protected mode because protected mode is enabled and no password is set for the ' +
  'default user. In this mode connections are only accepted from the loopback interface. If you want to connect from ' +
  'external computers, set a password for the default user (requirepass), or turn it off and define other users, or ' +
  'disable protected mode with CONFIG SET protected-mode no from this machine.\r\n'

/** Answer to a peer that is no trusted proxy where only those may connect. */
const NO_PROXY =
  '-DENIED connections to this port come through a proxy (proxy-protocol yes), and this address is not in trusted-proxies\r\n'

/** Refused connections of a listener that may take their time to read why; others are told and cut. */
const MOST_REFUSALS = 16

/** Time for a TLS handshake, in ms. */
const HANDSHAKE_TIMEOUT_MS = 5_000

/** Size of the runtime's reads; backpressure is this server's own. */
const HIGH_WATER_MARK_BYTES = 65_536

/** What the connections of one listener share. */
interface Listening {
  readonly endpoint: TcpEndpoint
  readonly host: TcpHost
  readonly reads: SharedReadBuffer
  readonly local: LocalAddress
  readonly refusals: Refusals
  /** Undefined where connections begin without a PROXY header. */
  readonly headers: ProxyHeaders | undefined
}

/** A connection on its way to become a client. */
interface Newcomer {
  readonly socket: Socket
  readonly peer: TcpPeer
  /** Takes the socket over, to be read. */
  readonly read: () => ReadableSocket
  /** What came with the PROXY header that was read from the socket, which is paused. */
  readonly rest?: Buffer
}

/** Options of all sockets. */
const SOCKETS = {
  allowHalfOpen: true,
  noDelay: true,
  highWaterMark: HIGH_WATER_MARK_BYTES,
}

/**
 * Opens a RESP listener.
 *
 * @throws RespcastError `ERR_LISTEN`, naming the address and the reason.
 */
export async function listenTcp(endpoint: TcpEndpoint, host: TcpHost): Promise<Listener> {
  const isProxied = endpoint.kind !== 'unix' && host.config.boolean('proxy-protocol')
  const listening: Listening = {
    endpoint,
    host,
    reads: new SharedReadBuffer(),
    local: new LocalAddress(),
    refusals: new Refusals(),
    headers: isProxied ? new ProxyHeaders(host) : undefined,
  }
  const { server, secure } =
    endpoint.kind === 'tls'
      ? secureServer(listening, endpoint.tls)
      : { server: plainServer(listening), secure: undefined }
  await listen(server, endpoint)
  const { host: at, port } = placeOf(server, endpoint)
  return {
    address: endpoint.kind === 'unix' ? endpoint.path : hostAndPort(at, port),
    host: at,
    port,
    close: () => {
      server.close()
    },
    setTls: (tls) => {
      if (secure) changeTls(secure, tls)
    },
  }
}

function plainServer(listening: Listening): Server {
  const { endpoint, host, reads, local, refusals, headers } = listening
  const accept = (socket: Socket): void => {
    socket.on('error', destroyOnError)
    const peer = peerOf(socket, endpoint, local)
    enter(listening, { socket, peer, read: () => reads.readInto(socket) })
  }
  const acceptProxied = (accepted: Socket): void => {
    accepted.on('error', destroyOnError)
    if (isGone(accepted)) return
    if (headers?.trusts(accepted) !== true) {
      refusals.refuse(accepted, NO_PROXY)
      return
    }
    inTurn(host, accepted, () => {
      const readable = reads.readInto(accepted)
      const { socket } = readable
      if (socket !== accepted) socket.on('error', destroyOnError)
      headers.read(readable, (client, rest) => {
        const peer = peerOf(socket, endpoint, local, client)
        enter(listening, { socket, peer, read: () => readable, rest })
      })
    })
  }
  return createServer({ ...SOCKETS, pauseOnConnect: true }, headers ? acceptProxied : accept)
}

/** @returns The server to listen with, and the one that shakes hands: another where a PROXY header comes before the handshake. */
function secureServer(listening: Listening, tls: ServerTls): { server: Server; secure: Server } {
  const { endpoint, host, local, headers } = listening
  const handshakes = new WaitingSockets(() => mostHandshakes(host.config.integer('maxclients')))
  /** The clients of connections that came through a proxy. */
  const proxied = new Map<string, ProxiedClient>()
  const ipOf = (socket: Socket): string =>
    proxied.get(addressesOf(socket))?.ip ?? socket.remoteAddress ?? ''
  const accept = (socket: TLSSocket): void => {
    handshakes.release(socket)
    if (!isPeerAllowed(socket, host.config.choice('tls-auth-clients'))) {
      socket.destroy()
      return
    }
    socket.on('error', destroyOnError)
    const peer = peerOf(socket, endpoint, local, proxied.get(addressesOf(socket)))
    enter(listening, { socket, peer, read: () => readAsStream(socket) })
  }
  const options = { ...SOCKETS, ...tls, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
  const secure = createTlsServer(options, accept)
  secure.on('connection', (socket: Socket) => {
    // Before the handshake, which is what costs.
    if (host.admission.isTooFast('tcp', ipOf(socket))) socket.destroy()
    else handshakes.add(socket, true)
  })
  // A failed handshake is the peer's affair; the socket is gone already.
  secure.on('tlsClientError', (error: Error, socket: Socket) => {
    host.peerLog.write('handshakeFailed', () => ({ ip: ipOf(socket), reason: error.message }))
  })
  if (!headers) return { server: secure, secure }
  const acceptProxied = (socket: Socket): void => {
    socket.on('error', destroyOnError)
    if (isGone(socket)) return
    if (!headers.trusts(socket)) {
      socket.destroy()
      return
    }
    inTurn(host, socket, () => {
      const head = readHead(socket)
      headers.read(head, (client, rest) => {
        const key = addressesOf(socket)
        if (client) proxied.set(key, client)
        socket.once('close', () => proxied.delete(key))
        head.giveBack(rest)
        secure.emit('connection', socket)
      })
    })
  }
  return { server: createServer({ ...SOCKETS, pauseOnConnect: true }, acceptProxied), secure }
}

/** Calls `go` when the newcomers before it have had their turn, unless its socket is gone by then. */
function inTurn({ admission }: TcpHost, socket: Socket, go: () => void): void {
  admission.whenDue(
    'resp',
    () => {
      if (!socket.destroyed) go()
    },
    () => socket.destroy(),
  )
}

/** Decides about a connection whose peer is known. */
function enter(listening: Listening, newcomer: Newcomer): void {
  const { host, refusals } = listening
  const { socket, peer } = newcomer
  // Over TLS it was decided before the handshake.
  if (peer.transport !== 'tls' && host.admission.isTooFast('tcp', peer.ip)) {
    refusals.refuse(socket, TOO_FAST)
    return
  }
  inTurn(host, socket, () => admit(listening, newcomer))
}

function listen(server: Server, endpoint: TcpEndpoint): Promise<void> {
  const where = whereOf(endpoint)
  if (endpoint.kind === 'unix') rmSync(endpoint.path, { force: true })
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new RespcastError('ERR_LISTEN', `cannot listen on ${where}: ${error.code}`, {
          cause: error,
        }),
      )
    })
    const opened = (): void => {
      if (endpoint.kind === 'unix' && endpoint.mode !== 0) chmodSync(endpoint.path, endpoint.mode)
      // Running out of descriptors must not end the server: accepting resumes when some are free again.
      server.removeAllListeners('error').on('error', () => {})
      resolve()
    }
    if (endpoint.kind === 'unix') server.listen(endpoint.path, opened)
    else if (endpoint.kind === 'tcp' && endpoint.descriptor !== undefined)
      server.listen({ fd: endpoint.descriptor }, opened)
    else
      server.listen({ host: endpoint.host, port: endpoint.port, backlog: endpoint.backlog }, opened)
  })
}

/** Where a listener is to be opened, for people. */
function whereOf(endpoint: TcpEndpoint): string {
  if (endpoint.kind === 'unix') return endpoint.path
  if (endpoint.kind === 'tcp' && endpoint.descriptor !== undefined)
    return `descriptor ${endpoint.descriptor}`
  return hostAndPort(endpoint.host, endpoint.port)
}

function admit(
  { host, refusals }: Listening,
  { socket: accepted, peer, read, rest }: Newcomer,
): void {
  const rejection = host.admission.admit(peer)
  if (rejection) {
    refusals.refuse(accepted, rejection === 'protected-mode' ? PROTECTED_MODE : FULL)
    return
  }
  const keepAliveSeconds = host.config.seconds('tcp-keepalive')
  if (keepAliveSeconds > 0) accepted.setKeepAlive(true, keepAliveSeconds * 1000)
  const { socket, start } = read()
  forgetAddresses(socket)
  const sink = new SocketSink(socket, host.admission.departures)
  const connection = connectTcp(host, peer, sink)
  host.admission.joined(connection.client, peer.ip)
  start(connection)
  if (rest === undefined) return
  if (rest.length > 0) connection.receive(rest)
  // A client that waits is read again when it goes on.
  if (!connection.client.isWaiting) socket.resume()
}

/** Lets go of a socket whose peer has reset it since, as health checks do: it has no address any longer. */
function isGone(socket: Socket): boolean {
  if (socket.remoteAddress !== undefined) return false
  socket.destroy()
  return true
}

function destroyOnError(this: Socket): void {
  this.destroy()
}

/** Tells peers why they are refused, and ends their connections. */
class Refusals {
  #open = 0

  /** Sends the line and ends the connection; at once where many are being refused: each takes a descriptor. */
  refuse(socket: Socket, line: string): void {
    const bytes = Buffer.from(line, 'latin1')
    if (this.#open >= MOST_REFUSALS) {
      socket.write(bytes)
      socket.destroy()
      return
    }
    this.#open++
    socket.once('close', () => this.#open--)
    socket.resume()
    socket.end(bytes, () => socket.destroy())
  }
}

/**
 * The peer of an accepted socket.
 *
 * @param client The one that a proxy speaks for.
 */
export function peerOf(
  socket: SocketAddresses,
  endpoint: Pick<TcpEndpoint, 'kind'> & { readonly path?: string },
  local: LocalAddress,
  client?: ProxiedClient,
): TcpPeer {
  if (endpoint.kind === 'unix') {
    const address = `${endpoint.path}:0`
    return { transport: 'unix', ip: '', address, localAddress: address }
  }
  const { ip, port } = client ?? { ip: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 }
  return {
    transport: endpoint.kind,
    ip,
    address: hostAndPort(ip, port),
    localAddress: local.of(socket),
  }
}

/** The address of a listener that is open. */
function placeOf(server: Server, endpoint: TcpEndpoint): { host: string; port: number } {
  const bound = server.address()
  if (endpoint.kind === 'unix') return { host: '', port: 0 }
  if (bound === null || typeof bound === 'string') {
    server.close()
    throw new RespcastError('ERR_LISTEN', `${whereOf(endpoint)} is no TCP socket`)
  }
  const isHandedOver = endpoint.kind === 'tcp' && endpoint.descriptor !== undefined
  return { host: isHandedOver ? bound.address : endpoint.host, port: bound.port }
}
