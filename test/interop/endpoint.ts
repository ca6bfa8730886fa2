import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Certificates } from '../support/certificates.ts'
import { connectControl, type Control } from '../support/oracle-session.ts'
import { freePort } from '../support/free-port.ts'
import { startServer, type TestGateway } from '../support/server.ts'

/** The ways to a RESP listener. */
export const WAYS = ['TCP', 'a Unix socket', 'TLS'] as const

export type Way = (typeof WAYS)[number]

/** A server that can be stopped and started again where it was, reachable in every way. */
export class Endpoint {
  readonly tcpPort: number
  readonly tlsPort: number
  readonly socketPath: string
  readonly certificates: Certificates
  readonly #dir: string
  readonly #clientCertificates: boolean
  #server: TestGateway | undefined

  private constructor(
    certificates: Certificates,
    clientCertificates: boolean,
    tcpPort: number,
    tlsPort: number,
  ) {
    this.certificates = certificates
    this.#clientCertificates = clientCertificates
    this.#dir = mkdtempSync(join(tmpdir(), 'respcast-way-'))
    this.socketPath = join(this.#dir, 'resp.sock')
    this.tcpPort = tcpPort
    this.tlsPort = tlsPort
  }

  /** Starts a server. @param clientCertificates TLS asks for a certificate of the client's. */
  static async open(certificates: Certificates, clientCertificates = false): Promise<Endpoint> {
    const tcpPort = await freePort()
    const endpoint = new Endpoint(certificates, clientCertificates, tcpPort, await freePort())
    await endpoint.start()
    return endpoint
  }

  /** Starts the server where it was before. */
  async start(): Promise<void> {
    const { ca, server } = this.certificates
    this.#server = await startServer({
      issuer: false,
      directives: {
        port: String(this.tcpPort),
        unixsocket: this.socketPath,
        'tls-port': String(this.tlsPort),
        'tls-cert-file': server.cert,
        'tls-key-file': server.key,
        ...(this.#clientCertificates
          ? { 'tls-ca-cert-file': ca, 'tls-auth-clients': 'yes' }
          : { 'tls-auth-clients': 'no' }),
      },
    })
  }

  /** Ends the server; its address is free then. */
  async stop(): Promise<void> {
    await this.#server?.stop()
    this.#server = undefined
  }

  /** Ends the server for good. */
  async close(): Promise<void> {
    await this.stop()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  /** A control connection over TCP. */
  control(): Promise<Control> {
    return connectControl(this.tcpPort)
  }
}

/** Reports whether an optional program or library may be missing: never on a build machine. */
export function requireInCi(isThere: boolean, what: string): boolean {
  if (isThere) return true
  if (process.env['CI'] === 'true') throw new Error(`${what} is not installed`)
  process.stderr.write(`tests are left out: ${what} is not installed\n`)
  return false
}
