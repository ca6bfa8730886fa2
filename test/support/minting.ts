import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { folderWith } from './folder.ts'
import { connectRaw } from './resp-client.ts'
import { startServer, type TestGateway } from './server.ts'

/** The secret of the programs in docs/minting.md. */
export const MINTING_SECRET = 'a-secret-of-the-manual-with-more-than-32-bytes'

/** The role that their tokens name. */
const MEMBER = [
  'role:member',
  'off',
  'resetchannels',
  '(resetchannels +subscribe &news:* &user:{sub}:*)',
]

/** Starts the server that their tokens are for. @param keys Directives; by default the secret. */
export async function startMintingServer(
  keys: Readonly<Record<string, string>> = {
    'jwt-secret-file': join(folderWith({ 'jwt-secret': `${MINTING_SECRET}\n` }), 'jwt-secret'),
  },
): Promise<TestGateway> {
  const server = await startServer({
    issuer: false,
    directives: {
      user: [MEMBER],
      'jwt-issuer': 'https://accounts.example.com',
      'jwt-audience': 'chat',
      ...keys,
    },
  })
  onTestFinished(() => server.stop())
  return server
}

/** Proves that a token logs in as subject 42, and may what the role grants, no more. */
export async function assertLogsIn(server: TestGateway, token: string): Promise<void> {
  const client = await connectRaw(server.port)
  onTestFinished(() => client.destroy())
  client.command('HELLO', '3')
  await client.takeUntil('*0\r\n')
  await client.assertReply(['AUTH', 'jwt', token], '+OK\r\n')
  await client.assertReply(['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
  await client.subscribe('user:42:inbox', 1, 3)
  client.command('SUBSCRIBE', 'user:43:inbox')
  await client.takeExactly('-NOPERM No permissions to access a channel\r\n')
}
