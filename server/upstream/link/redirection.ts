import type { Node } from '../node.ts'

/**
 * Reads `MOVED 3999 host:port` or `ASK 3999 host:port`.
 *
 * @param from The node that said so: it stands for an empty host.
 */
export function readRedirection(
  word: 'MOVED' | 'ASK',
  line: string,
  from: Node | undefined,
): { slot: number; node: Node } | undefined {
  const match = /^(MOVED|ASK) (\d+) (.*):(\d+)$/.exec(line)
  if (match === null) return undefined
  const [, said, slot = '', host = '', port = ''] = match
  if (said !== word) return undefined
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const name = bare === '' ? from?.host : bare
  return name === undefined
    ? undefined
    : { slot: Number(slot), node: { host: name, port: Number(port) } }
}
