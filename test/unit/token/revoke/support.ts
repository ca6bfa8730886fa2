import { TestCore, type TestClient } from '../../../support/test-core.ts'
import type { Directives } from '../../../support/settings.ts'
import type { ConnectOptions } from '../../../support/test-core.ts'
import { tokenFor } from '../../../support/tokens.ts'

/**
 * A server, and an administrator on it.
 *
 * @param env Secrets of the issuer, see {@link TestCore}.
 * @param nodeNumber See {@link TestCore}.
 */
export function revocable(
  options: Directives = {},
  env?: Readonly<Record<string, string>>,
  nodeNumber: number | (() => number) = 0,
) {
  const server = new TestCore(options, undefined, env, undefined, () =>
    typeof nodeNumber === 'number' ? nodeNumber : nodeNumber(),
  )
  const admin = server.connect({ protocol: 3 })
  /** A session of a token with these grants; what its login was answered is taken. */
  const session = async (
    grants: unknown = { channels: ['*'] },
    claims: Record<string, unknown> = {},
    connect: ConnectOptions = { transport: 'websocket' },
  ): Promise<TestClient> => {
    const client = server.connect(connect)
    const answer = await login(client, tokenFor(grants, claims))
    if (!answer.startsWith('+OK\r\n')) throw new Error(`login: ${answer}`)
    return client
  }
  /** TOKEN and the words of a line. */
  const token = (line: string): Promise<string> => admin.sendAndWait('TOKEN', ...line.split(' '))
  const publish = (channel: string, payload: string): string =>
    admin.send('PUBLISH', channel, payload)
  return { server, admin, session, token, publish }
}

/** Logs in by AUTH. @returns Everything that comes of it. */
export function login(client: TestClient, text: string): Promise<string> {
  return client.sendAndWait('AUTH', 'jwt', text)
}

export const message = (channel: string, payload: string): string =>
  `>3\r\n$7\r\nmessage\r\n$${channel.length}\r\n${channel}\r\n$${payload.length}\r\n${payload}\r\n`

export const pmessage = (pattern: string, channel: string, payload: string): string =>
  `>4\r\n$8\r\npmessage\r\n$${pattern.length}\r\n${pattern}\r\n$${channel.length}\r\n${channel}\r\n` +
  `$${payload.length}\r\n${payload}\r\n`

export const revokedPush = (channel: string, text: string): string =>
  `>4\r\n$5\r\ntoken\r\n$7\r\nrevoked\r\n$${channel.length}\r\n${channel}\r\n$${text.length}\r\n${text}\r\n`

/** The close that a session was sent. */
export const closeOf = ({ sink }: TestClient): { code: number; reason: string } | undefined =>
  sink.ends.at(-1)

export const NO_CHANNEL = '-NOPERM No permissions to access a channel\r\n'
