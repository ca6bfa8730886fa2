import { execFileSync } from 'node:child_process'
import type { Direction } from './tcp-proxy.ts'

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/**
 * A network namespace of Linux for one server, which several links lead into: one for each gateway, which can lose what goes in one
 * direction, and one for everybody else. Needs root.
 */
export class Network {
  readonly #name = `respcast-${process.pid}`
  readonly #subnet = `10.231.${process.pid % 256}`
  /** That of everybody else is the last. */
  readonly #links: readonly string[]
  readonly #gateways: readonly number[]

  private constructor(gateways: number) {
    this.#gateways = Array.from({ length: gateways }, (_, at) => at)
    this.#links = [...this.#gateways, gateways].map((at) => `rc${process.pid}n${at}`)
  }

  /** @throws Error Namespaces are not allowed. */
  static open(gateways: number): Network {
    const network = new Network(gateways)
    try {
      network.#build()
      return network
    } catch (error) {
      network.close()
      throw error
    }
  }

  /** The server's address for a gateway. */
  gatewayHost(at: number): string {
    return `${this.#subnet}.${at * 4 + 2}`
  }

  /** The server's address for everybody else. */
  get host(): string {
    return this.gatewayHost(this.#gateways.length)
  }

  /** The beginning of a command line that runs in the namespace. */
  get prefix(): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name]
  }

  /** Loses every packet between gateways, by default all, and the server in one direction; `up` is to the server. */
  lose(direction: Direction, gateways = this.#gateways): void {
    for (const at of gateways) ip(...this.#blackhole('add', direction, at))
  }

  heal(direction: Direction, gateways = this.#gateways): void {
    for (const at of gateways) ip(...this.#blackhole('del', direction, at))
  }

  close(): void {
    const removals = [
      ...this.#gateways.map((at) => this.#blackhole('del', 'up', at)),
      ...this.#links.map((link) => ['link', 'del', link]),
      ['netns', 'del', this.#name],
    ]
    for (const args of removals) {
      try {
        ip(...args)
      } catch {
        // It is not there.
      }
    }
  }

  #blackhole(what: 'add' | 'del', direction: Direction, at: number): string[] {
    return direction === 'up'
      ? ['route', what, 'blackhole', `${this.gatewayHost(at)}/32`]
      : ['-n', this.#name, 'route', what, 'blackhole', `${this.#subnet}.${at * 4 + 1}/32`]
  }

  #build(): void {
    ip('netns', 'add', this.#name)
    ip('-n', this.#name, 'link', 'set', 'lo', 'up')
    for (const [at, link] of this.#links.entries()) {
      const inner = `${link}i`
      ip('link', 'add', link, 'type', 'veth', 'peer', 'name', inner)
      ip('link', 'set', inner, 'netns', this.#name)
      ip('addr', 'add', `${this.#subnet}.${at * 4 + 1}/30`, 'dev', link)
      ip('link', 'set', link, 'up')
      ip('-n', this.#name, 'addr', 'add', `${this.#subnet}.${at * 4 + 2}/30`, 'dev', inner)
      ip('-n', this.#name, 'link', 'set', inner, 'up')
    }
  }
}
