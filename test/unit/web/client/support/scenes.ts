import type { RespcastClient } from '../../../../../web/client/client.ts'
import type { TokenReason } from '../../../../../web/client/token-source.ts'
import type { Message } from '../../../../../web/client/types.ts'
import { FakeServer } from './fake-server.ts'

/** A fraction that makes waits long enough to be seen, and the first wait with it. */
export const JITTER = 0.5
export const WAIT_MS = 250

/** A client that is online. */
export async function online(
  options: Parameters<FakeServer['client']>[0] = { token: 'a.b.c' },
): Promise<{ server: FakeServer; client: RespcastClient }> {
  const server = new FakeServer()
  const client = server.client(options)
  await server.online()
  return { server, client }
}

/** A handler that collects messages as `channel text`. */
export function inbox(): { seen: string[]; handler: (message: Message) => void } {
  const seen: string[] = []
  return { seen, handler: (message) => void seen.push(`${message.channel} ${message.text()}`) }
}

/** A live subscription that collects the texts of its messages. */
export async function hearing(
  server: FakeServer,
  client: RespcastClient,
  name = 'news',
): Promise<{ seen: string[] }> {
  const seen: string[] = []
  const { ready } = client.subscribe(name, (message) => void seen.push(message.text()))
  server.socket.confirm('subscribe', name)
  await ready
  server.socket.commands()
  return { seen }
}

/** A provider that numbers its tokens, and remembers why it was asked. */
export function numbering(): {
  reasons: TokenReason[]
  provider: (request: { reason: TokenReason }) => string
} {
  const reasons: TokenReason[] = []
  return {
    reasons,
    provider: ({ reason }) => {
      reasons.push(reason)
      return `token-${reasons.length}`
    },
  }
}
