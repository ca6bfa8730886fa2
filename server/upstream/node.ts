import { hostAndPort } from '../addresses.ts'

/** The address of a server. */
export interface Node {
  /** A name in lower case, or an IP address without brackets. */
  readonly host: string
  readonly port: number
}

/** Reports whether two addresses are written alike. */
export function isSameNode(a: Node | undefined, b: Node | undefined): boolean {
  return a?.host === b?.host && a?.port === b?.port
}

/** `host:port`, with an IPv6 address in brackets. */
export function nodeText({ host, port }: Node): string {
  return hostAndPort(host, port)
}
