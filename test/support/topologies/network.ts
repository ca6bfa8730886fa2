import { execFileSync } from 'node:child_process'
import type { Direction } from './tcp-proxy.ts'

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/**
 * A network namespace of Linux for one server, which two links lead into: one for gateways, which can lose what goes in one direction, and
 * one for everybody else. Needs root.
 */
export class Network {
  readonly #name = `respcast-${process.pid}`
  readonly #subnet = `10.231.${process.pid % 256}`
  readonly #links = ['a', 'b'].map((letter) => `rc${process.pid}${letter}`)

  /** @throws Error Namespaces are not allowed. */
  static open(): Network {
    const network = new Network()
    try {
      network.#build()
      return network
    } catch (error) {
      network.close()
      throw error
    }
  }

  /** The server's address for gateways. */
  get gatewayHost(): string {
    return `${this.#subnet}.2`
  }

  /** The server's address for everybody else. */
  get host(): string {
    return `${this.#subnet}.6`
  }

  /** The beginning of a command line that runs in the namespace. */
  get prefix(): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name]
  }

  /** Loses every packet between gateways and the server in one direction; `up` is to the server. */
  lose(direction: Direction): void {
    if (direction === 'up') ip('route', 'add', 'blackhole', `${this.gatewayHost}/32`)
    else ip('-n', this.#name, 'route', 'add', 'blackhole', `${this.#subnet}.1/32`)
  }

  heal(direction: Direction): void {
    if (direction === 'up') ip('route', 'del', 'blackhole', `${this.gatewayHost}/32`)
    else ip('-n', this.#name, 'route', 'del', 'blackhole', `${this.#subnet}.1/32`)
  }

  close(): void {
    const removals = [
      ['route', 'del', 'blackhole', `${this.gatewayHost}/32`],
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
