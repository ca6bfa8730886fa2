import { fastify } from 'fastify'
import { describe, expect, test } from 'vitest'
import { respcast } from '../../server/embed.ts'
import { folderWith } from '../support/folder.ts'
import type { Directives } from '../support/settings.ts'

const SECRET = '0123456789abcdef0123456789abcdef'

/** Starts a server in an application without listeners, and ends it. */
async function embed(directives: Directives): Promise<void> {
  const dir = folderWith({ secret: SECRET })
  const app = fastify()
  try {
    await app.register(respcast, {
      directives: {
        port: '0',
        dir,
        'jwt-issuer': 'i',
        'jwt-audience': 'a',
        'jwt-secret-file': 'secret',
        ...directives,
      },
    })
    await app.ready()
  } finally {
    await app.close()
  }
}

const PUBLIC = { 'ws-allowed-origins': 'https://app.example' }

describe('A server in an application', () => {
  test('is taken to listen beyond loopback, and needs what a server of its own needs there', async () => {
    const hint = / If the application listens on loopback only, say so: http-bind 127\.0\.0\.1\.$/
    await expect(embed({})).rejects.toThrow(/without ws-allowed-origins/)
    await expect(embed({})).rejects.toThrow(hint)
    await expect(embed({ ...PUBLIC, 'acl-pubsub-default': 'allchannels' })).rejects.toThrow(
      /allow-public-allchannels/,
    )
    await expect(embed({ ...PUBLIC, port: '1' })).rejects.toThrow(/^requirepass: /)
    await expect(embed(PUBLIC)).resolves.toBeUndefined()
  })

  test('that says that it listens on loopback needs no more than another there', async () => {
    await expect(embed({ 'http-bind': '127.0.0.1' })).resolves.toBeUndefined()
  })

  test('refuses http-tls, which it could not fulfil', async () => {
    await expect(embed({ ...PUBLIC, 'http-tls': 'yes' })).rejects.toThrow(
      /^http-tls: the listener is the application's own\. Give Fastify the option https/,
    )
  })
})
