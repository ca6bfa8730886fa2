import type { Register } from './register.ts'

/** Who ordered something, and where. */
export interface Origin {
  /** Id of the gateway: see {@link NodeRecord}. */
  readonly node: string
  /** Name of the ACL user, a byte string. */
  readonly user: string
  readonly address: string
}

/** An order that changes no register: CLIENT KILL. It goes to every gateway once, and is not kept. */
export interface Order {
  /** The part that carries it out: see {@link SharedPart}. */
  readonly part: string
  readonly value: string
}

/** One entry of the log that gateways share: registers that change together, or an order. */
export interface Entry {
  /** 16 lower-case hexadecimal digits, random. The registers of an entry have it as theirs, unless they are committed anew. */
  readonly uuid: string
  readonly origin: Origin
  /** The clock of the upstream as its gateway knew it, in ms since 1970. */
  readonly atMs: number
  readonly registers: readonly Register[]
  readonly order: Order | undefined
}
