import { chmodSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { hostAndPort, LocalAddress, type SocketAddresses } from '../addresses.ts'
import type { TransportName } from '../client/client.ts'
import type { Settings } from '../config/settings.ts'
import { RespcastError } from '../errors.ts'
import { mostHandshakes } from '../config/open-files.ts'
import { FULL, TOO_FAST, type Admission } from './admission.ts'
import { readAsStream, SharedReadBuffer, SocketSink } from './raw-socket.ts'
import { connectTcp, type ReceptionHost } from './reception.ts'
import { changeTls, isPeerAllowed, type ServerTls } from './tls.ts'
import { WaitingSockets } from './waiting-sockets.ts'

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
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly backlog: number }
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

/** Refused connections of a listener that may take their time to read why; others are told and cut. */
const MOST_REFUSALS = 16

/** Time for a TLS handshake, in ms. */
const HANDSHAKE_TIMEOUT_MS = 5_000

/** Size of the runtime's reads; backpressure is this server's own. */
const HIGH_WATER_MARK_BYTES = 65_536

/**
 * Opens a RESP listener.
 *
 * @throws RespcastError `ERR_LISTEN`, naming the address and the reason.
 */
export async function listenTcp(endpoint: TcpEndpoint, host: TcpHost): Promise<Listener> {
  const options = {
    allowHalfOpen: true,
    noDelay: true,
    highWaterMark: HIGH_WATER_MARK_BYTES,
  }
  const reads = new SharedReadBuffer()
  const local = new LocalAddress()
  const refusals = new Refusals()
  const handshakes = new WaitingSockets(() => mostHandshakes(host.config.integer('maxclients')))
  const accept = (socket: Socket): void => {
    socket.on('error', destroyOnError)
    if (endpoint.kind === 'tcp' && host.admission.isTooFast('tcp', socket.remoteAddress ?? '')) {
      refusals.refuse(socket, TOO_FAST)
      return
    }
    host.admission.whenDue(
      'resp',
      () => {
        if (!socket.destroyed) acceptSocket(socket, endpoint, host, reads, local, refusals)
      },
      () => socket.destroy(),
    )
  }
  const acceptSecure = (socket: TLSSocket): void => {
    handshakes.release(socket)
    if (isPeerAllowed(socket, host.config.choice('tls-auth-clients'))) accept(socket)
    else socket.destroy()
  }
  const server =
    endpoint.kind === 'tls'
      ? createTlsServer(
          { ...options, ...endpoint.tls, handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
          acceptSecure,
        )
      : createServer({ ...options, pauseOnConnect: true }, accept)
  if (endpoint.kind === 'tls') {
    server.on('connection', (socket: Socket) => {
      // Before the handshake, which is what costs.
      if (host.admission.isTooFast('tcp', socket.remoteAddress ?? '')) socket.destroy()
      else handshakes.add(socket, true)
    })
  }
  // A failed handshake is the peer's affair; the socket is gone already.
  server.on('tlsClientError', (error: Error, { remoteAddress: ip }: Socket) => {
    host.peerLog.write('handshakeFailed', () => ({ ip, reason: error.message }))
  })
  await listen(server, endpoint)
  return {
    address: endpoint.kind === 'unix' ? endpoint.path : hostAndPort(endpoint.host, portOf(server)),
    port: endpoint.kind === 'unix' ? 0 : portOf(server),
    close: () => {
      server.close()
    },
    setTls: (tls) => {
      changeTls(server, tls)
    },
  }
}

function listen(server: Server, endpoint: TcpEndpoint): Promise<void> {
  const where = endpoint.kind === 'unix' ? endpoint.path : hostAndPort(endpoint.host, endpoint.port)
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
    else
      server.listen({ host: endpoint.host, port: endpoint.port, backlog: endpoint.backlog }, opened)
  })
}

function acceptSocket(
  accepted: Socket,
  endpoint: TcpEndpoint,
  host: TcpHost,
  reads: SharedReadBuffer,
  local: LocalAddress,
  refusals: Refusals,
): void {
  const peer = peerOf(accepted, endpoint, local)
  const rejection = host.admission.admit(peer)
  if (rejection) {
    refusals.refuse(accepted, rejection === 'protected-mode' ? PROTECTED_MODE : FULL)
    return
  }
  const keepAliveSeconds = host.config.seconds('tcp-keepalive')
  if (keepAliveSeconds > 0) accepted.setKeepAlive(true, keepAliveSeconds * 1000)
  const { socket, start } =
    endpoint.kind === 'tls' ? readAsStream(accepted) : reads.readInto(accepted)
  if (socket !== accepted) socket.on('error', destroyOnError)
  const sink = new SocketSink(socket)
  const connection = connectTcp(host, peer, sink)
  host.admission.joined(connection.client, peer.ip)
  start(connection)
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

/** The peer of an accepted socket. */
export function peerOf(
  socket: SocketAddresses,
  endpoint: Pick<TcpEndpoint, 'kind'> & { readonly path?: string },
  local: LocalAddress,
): TcpPeer {
  if (endpoint.kind === 'unix') {
    const address = `${endpoint.path}:0`
    return { transport: 'unix', ip: '', address, localAddress: address }
  }
  return {
    transport: endpoint.kind,
    ip: socket.remoteAddress ?? '',
    address: hostAndPort(socket.remoteAddress ?? '', socket.remotePort ?? 0),
    localAddress: local.of(socket),
  }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
