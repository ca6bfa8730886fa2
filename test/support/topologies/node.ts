import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RespValue } from '../../../shared/resp/types.ts'
import { freePort } from '../free-port.ts'
import { findProgram } from '../redis-servers.ts'
import { askNode, textOf, waitUntil } from './ask-node.ts'
import { Child } from './child.ts'
import type { Network } from './network.ts'

/** Servers that can be upstream. */
export type Program = 'redis-server' | 'valkey-server'

/** How a node is started. */
export interface NodeOptions {
  readonly program?: Program
  /** More of its command line. */
  readonly directives?: readonly string[]
  /** Text of a configuration file, which it may rewrite. */
  readonly configuration?: string
  /** `--sentinel` */
  readonly isSentinel?: boolean
  /** It lives there, and not on 127.0.0.1. */
  readonly network?: Network
}

/** A process of `redis-server` or `valkey-server` on a free port of 127.0.0.1, which can be ended and started again. */
export class Node {
  readonly host: string
  readonly port: number
  readonly #child: Child
  readonly #dir: string

  private constructor(host: string, port: number, dir: string, child: Child) {
    this.host = host
    this.port = port
    this.#dir = dir
    this.#child = child
  }

  /** Starts a node without persistence, and waits until it answers. @throws Error The program is not installed. */
  static async start(options: NodeOptions = {}): Promise<Node> {
    const { program = 'valkey-server', directives = [], configuration } = options
    const { isSentinel, network } = options
    const path = findProgram(program)
    if (path === undefined) throw new Error(`${program} is not installed`)
    const port = await freePort()
    const dir = mkdtempSync(join(tmpdir(), 'respcast-node-'))
    const file = join(dir, 'node.conf')
    if (configuration !== undefined) writeFileSync(file, configuration)
    const inMemory = isSentinel ? [] : ['--save', '', '--appendonly', 'no']
    const child = new Child(
      [
        ...(network?.prefix ?? []),
        path,
        ...(configuration === undefined ? [] : [file]),
        ...['--port', `${port}`, '--dir', dir],
        ...(network ? ['--bind', '0.0.0.0', '--protected-mode', 'no'] : ['--bind', '127.0.0.1']),
        ...inMemory,
        ...directives,
        ...(isSentinel ? ['--sentinel'] : []),
      ],
      { cwd: dir, env: { PATH: process.env['PATH'] } },
      join(dir, 'log'),
    )
    const node = new Node(network?.host ?? '127.0.0.1', port, dir, child)
    await node.start()
    return node
  }

  get pid(): number {
    return this.#child.pid
  }

  get isAlive(): boolean {
    return this.#child.isAlive
  }

  get log(): string {
    return this.#child.log
  }

  /** Starts it again on its port, and waits until it answers. */
  async start(): Promise<void> {
    this.#child.spawn()
    await waitUntil(`PONG of port ${this.port}`, async () => {
      if (!this.isAlive) throw new Error(`it ended: ${this.log.slice(-500)}`)
      return textOf(await this.ask('PING')) === 'PONG'
    })
  }

  /** `kill -9` */
  kill(): Promise<void> {
    return this.#child.kill()
  }

  pause(): void {
    this.#child.pause()
  }

  resume(): void {
    this.#child.resume()
  }

  ask(...args: readonly string[]): Promise<RespValue> {
    return askNode(this, ...args)
  }

  /** `ROLE`: `master`, `slave` or `sentinel`. */
  async role(): Promise<string> {
    const reply = (await this.ask('ROLE')) as readonly RespValue[]
    return textOf(reply[0])
  }

  /** Closes all clients that are subscribed to something: `CLIENT KILL TYPE pubsub`. */
  async killSubscribers(): Promise<void> {
    await this.ask('CLIENT', 'KILL', 'TYPE', 'pubsub')
  }

  /** Ends it, and removes its folder. */
  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}

/** Starts what depends on nothing else at the same time; if one fails, all end. */
export async function startTogether(starts: readonly Promise<Node>[]): Promise<Node[]> {
  const results = await Promise.allSettled(starts)
  const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.find((result) => result.status === 'rejected')
  if (!failed) return nodes
  await Promise.all(nodes.map((node) => node.stop()))
  throw failed.reason
}
