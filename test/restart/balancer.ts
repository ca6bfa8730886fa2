import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Time between two questions whether a server is ready, in ms. */
const CHECK_MS = 200

/** A server behind a balancer. */
export interface Target {
  /** On 127.0.0.1. */
  readonly port: number
  isReady(): Promise<boolean>
}

interface Member {
  readonly target: Target
  isReady: boolean
  connections: number
}

/** A TCP load balancer on 127.0.0.1: each connection goes to the server that has fewest, of those that say that they are ready. */
export class Balancer {
  readonly #server: Server
  readonly #members = new Map<Target, Member>()
  readonly #sockets = new Set<Socket>()
  readonly #checks: NodeJS.Timeout

  private constructor() {
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client))
    this.#checks = setInterval(() => void this.#check(), CHECK_MS)
  }

  static async start(): Promise<Balancer> {
    const balancer = new Balancer()
    await new Promise<void>((resolve) => {
      balancer.#server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, resolve)
    })
    return balancer
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections of each server that it knows. */
  get loads(): number[] {
    return [...this.#members.values()].map(({ connections }) => connections)
  }

  /** Sends connections to a server that is ready now. */
  add(target: Target): void {
    this.#members.set(target, { target, isReady: true, connections: 0 })
  }

  /** Forgets a server. */
  remove(target: Target): void {
    this.#members.delete(target)
  }

  async stop(): Promise<void> {
    clearInterval(this.#checks)
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #check(): Promise<void> {
    await Promise.all(
      [...this.#members.values()].map(async (member) => {
        member.isReady = await member.target.isReady().catch(() => false)
      }),
    )
  }

  #accept(client: Socket): void {
    this.#keep(client)
    const members = [...this.#members.values()]
      .filter(({ isReady }) => isReady)
      .toSorted((a, b) => a.connections - b.connections)
    this.#connect(client, members)
  }

  /** Connects to the first that takes the connection. */
  #connect(client: Socket, [member, ...others]: readonly Member[]): void {
    if (member === undefined) {
      client.destroy()
      return
    }
    member.connections++
    const server = connect({ port: member.target.port, host: '127.0.0.1', noDelay: true })
    this.#keep(server)
    let isOpen = false
    server.once('connect', () => {
      isOpen = true
      client.pipe(server).pipe(client)
      client.once('close', () => server.destroy())
    })
    server.once('close', () => {
      member.connections--
      if (isOpen || client.destroyed) client.destroy()
      else this.#connect(client, others)
    })
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
