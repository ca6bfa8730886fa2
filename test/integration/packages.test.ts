import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRunBrowser, launchChromium } from '../browser/chromium.ts'
import { folderWith } from '../support/folder.ts'
import { installPacked, pageProgram, pinned, run } from '../support/packaged.ts'
import { ROOT } from '../support/process.ts'
import { connectionsOfTwoTabs } from '../support/two-tabs.ts'

/** An application that has the packed packages installed. */
let folder: string

beforeAll(async () => {
  folder = folderWith({}, afterAll)
  await installPacked(folder, pinned('react', 'react-dom', 'vue', '@types/react', '@types/node'))
}, 120_000)

/** Writes a file of the application. */
function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}

describe('what is packed', () => {
  /** Checks the package in a folder. @returns The faults found. */
  const faultsOf = (path: string): string =>
    spawnSync(process.execPath, ['scripts/check-package.mjs', path], {
      cwd: ROOT,
    }).stderr.toString()

  test('has every file that its manifest names, declarations that lead nowhere else, and maps with their sources', () => {
    expect(faultsOf('.') + faultsOf('dist/package')).toBe('')
  })

  test.each<[string, string, (copy: string) => void]>([
    ['./react/react.js was not built', 'a file', (copy) => rmSync(join(copy, 'react/react.js'))],
    [
      'client/types/web/client/index.d.ts leads to ./client.ts',
      'a declaration',
      (copy) => rmSync(join(copy, 'client/types/web/client/client.d.ts')),
    ],
    [
      'types of ./react need fs-extra',
      'a package',
      (copy) =>
        writeFileSync(
          join(copy, 'client/types/web/react/index.d.ts'),
          `export type { A } from 'fs-extra'`,
        ),
    ],
    [
      'react/react.js.map lacks its sources',
      'a source',
      (copy) => writeFileSync(join(copy, 'react/react.js.map'), '{"sources":["a.ts"]}'),
    ],
  ])('is refused with "%s" where %s is missing', (fault, _what, spoil) => {
    const copy = folderWith()
    cpSync(join(ROOT, 'dist/package'), copy, { recursive: true })
    spoil(copy)
    expect(faultsOf(copy)).toContain(fault)
  })
})

describe('the installed packages', () => {
  test('have a command line that starts', async () => {
    const { stdout } = await run(folder, join(folder, 'node_modules/.bin/respcast'), ['--version'])
    expect(stdout).toMatch(/^respcast \d+\.\d+\.\d+\n$/)
  })

  test('have a command line that checks a configuration, and mints and explains tokens', async () => {
    const bin = join(folder, 'node_modules/.bin/respcast')
    write('respcast.conf', 'port 6380\n')
    expect((await run(folder, bin, ['--check', 'respcast.conf'])).stdout).toContain('is good')
    const { stdout } = await run(folder, bin, ['token', 'mint', '--sub', '42', '--role', 'demo'])
    const explained = await run(folder, bin, ['token', 'explain', stdout.trim()])
    expect(explained.stdout).toMatch(/^allowed +yes\nuser +jwt:42\n/)
  })

  test('render a component that uses the hooks on a server, where nothing is subscribed', async () => {
    write(
      'render.mjs',
      `import { createElement } from 'react'
      import { renderToString } from 'react-dom/server'
      import { WebSocket } from 'ws'
      for (const [library, hooks] of [['respcast/client', 'respcast/react'], ['respcast-client', 'respcast-client/react']]) {
        const { connect } = await import(library)
        const { RespcastProvider, useChannel, useConnection } = await import(hooks)
        const client = connect('ws://127.0.0.1:1/ws', { WebSocket })
        const Room = () => {
          const { status, value } = useChannel('room:7', { initial: 'none yet' })
          return createElement('p', null, status, ' ', value, ' ', useConnection().status)
        }
        console.log(renderToString(createElement(RespcastProvider, { client }, createElement(Room))))
        client.close()
      }`,
    )
    const { stdout } = await run(folder, process.execPath, ['render.mjs'])
    const [one, two, ...rest] = stdout.trimEnd().split('\n')
    expect(one?.replaceAll('<!-- -->', '')).toBe('<p>pending none yet connecting</p>')
    expect([two, rest]).toEqual([one, []])
  })

  test('are a plugin of Fastify, and can be imported on a server', async () => {
    write(
      'server.mjs',
      `import fastify from 'fastify'
      import { respcast } from 'respcast'
      import { connect } from 'respcast/client'
      import { useChannel } from 'respcast/react'
      import { tokenMinter } from 'respcast/token'
      import * as client from 'respcast-client'
      import * as react from 'respcast-client/react'
      const app = fastify()
      await app.register(respcast, { directives: { port: '0', 'http-bind': '127.0.0.1' } })
      await app.ready()
      console.log(await app.respcast.publish('news', 'hello'), typeof connect, typeof useChannel)
      import { respcast as plugin } from 'respcast-client/vue'
      import { channel } from 'respcast/svelte'
      import { TestServer } from 'respcast-client/testing'
      console.log(typeof client.connect, typeof react.useChannel)
      const server = new TestServer()
      const tested = client.connect('ws://test/ws', { token: 'any', WebSocket: server.WebSocket })
      await tested.subscribe('news', (message) => console.log(message.text())).ready
      console.log(server.publish('news', 'in memory'), typeof plugin, typeof channel)
      await tested.publish('news', 'answered')
      tested.close()
      const minter = tokenMinter({ issuer: 'i', audience: 'a', secret: 'x'.repeat(32) })
      console.log((await minter.mint({ sub: '42' })).split('.').length)
      await app.close()`,
    )
    const { stdout } = await run(folder, process.execPath, ['server.mjs'])
    expect(stdout).toBe(
      '0 function function\nfunction function\n1 function function\nin memory\nanswered\n3\n',
    )
  })

  test('install nothing beside the client, where only the client is asked for', () => {
    const manifest = readFileSync(join(folder, 'node_modules/respcast-client/package.json'), 'utf8')
    expect(JSON.parse(manifest)).not.toHaveProperty('dependencies')
  })
})

describe('their types', { timeout: 60_000 }, () => {
  const SERVER = `
    import fastify from 'fastify'
    import { respcast } from 'respcast'
    import type { EmbedOptions, RespcastHandle } from 'respcast'
    const app = fastify()
    await app.register(respcast, { directives: { port: '0' } } satisfies EmbedOptions)
    const handle: RespcastHandle = app.respcast
    export const receivers: Promise<number> = handle.publish('news', 'hello')
    import { RespcastError, tokenMinter } from 'respcast/token'
    import type { MinterOptions, MintRequest, TokenMinter } from 'respcast/token'
    const options: MinterOptions = { issuer: 'https://a.example', audience: 'chat', secret: 'x' }
    const request: MintRequest = { sub: '42', roles: ['member'], claims: { org: 'acme' } }
    export const minter: TokenMinter<{ org: string }> = tokenMinter<{ org: string }>(options)
    export const token: Promise<string> = minter.mint({ sub: '42', claims: { org: 'acme' } })
    export const other: Promise<string> = tokenMinter(options).mint(request)
    export const isOurs = (error: unknown) => error instanceof RespcastError && error.code
    // @ts-expect-error -- A token is of somebody.
    void minter.mint({ roles: ['member'] })
    // @ts-expect-error -- The application's tokens have no such claim.
    void minter.mint({ sub: '42', claims: { team: 'acme' } })
    // @ts-expect-error -- A secret signs no ES256.
    tokenMinter({ ...options, algorithm: 'ES256' })
  `
  const page = (library: string, hooks: string): string => `
    import { connect } from '${library}'
    import type { ConnectOptions, Message } from '${library}'
    import { useChannel, useRespcast } from '${hooks}'
    interface Channels { 'room:*': { text: string }; ticker: number }
    const options: ConnectOptions = { codec: 'json', share: 'tabs', tabsWorker: '/tabs-worker.js' }
    export const client = connect<Channels>('/ws', options)
    declare module '${hooks}' { interface Register { client: typeof client } }
    for await (const { data } of client.subscribe('ticker')) data.toFixed()
    export function Room() {
      const respcast = useRespcast()
      const last: Message<number> | undefined = useChannel('ticker').value
      const { value } = useChannel('room:7', {
        initial: [] as string[],
        reduce: (lines, { data }) => [...lines, data.text],
      })
      // @ts-expect-error -- The application has no such channel.
      useChannel('elsewhere')
      return <p onClick={() => void respcast.publish('ticker', 1)}>{value.length}{last?.data}</p>
    }
  `

  /** Compiles files of the application. @returns Complaints, of which there may be none. */
  async function compile(config: object): Promise<string> {
    write('tsconfig.json', JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    return (await run(folder, tsc, ['-p', 'tsconfig.json'])).stdout
  }

  test.each([
    ['bundler', 'ESNext', true],
    ['bundler', 'ESNext', false],
    ['node16', 'Node16', false],
  ])(
    'are strict under %s with %s, skipLibCheck %s',
    async (moduleResolution, module, skipLibCheck) => {
      write('server.ts', SERVER)
      write('page.tsx', page('respcast/client', 'respcast/react'))
      write('small.tsx', page('respcast-client', 'respcast-client/react'))
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        skipLibCheck,
        target: 'ES2022',
        module,
        moduleResolution,
        jsx: 'react-jsx',
        lib: ['ES2022', 'DOM', 'DOM.Iterable'],
        types: [],
      }
      // A page knows nothing of Node.js, and a server nothing of pages.
      expect(await compile({ compilerOptions, files: ['page.tsx', 'small.tsx'] })).toBe('')
      const onServer = { ...compilerOptions, lib: ['ES2022'], types: ['node'] }
      expect(await compile({ compilerOptions: onServer, files: ['server.ts'] })).toBe('')
    },
  )
})

describe.runIf(canRunBrowser)('an application with `share: tabs`', { timeout: 60_000 }, () => {
  const PAGE = `<!doctype html><title>none</title><script type="module" src="./main.js"></script>`
  let browser: Browser

  beforeAll(async () => {
    browser = await launchChromium()
  })

  afterAll(async () => {
    await browser?.close()
  })

  test.each(['respcast/client', 'respcast-client'])(
    'shares one connection when Vite builds it with %s',
    async (library) => {
      write('index.html', PAGE)
      write('main.js', pageProgram(library))
      await build({ root: folder, configFile: false, logLevel: 'error' })
      expect(await connectionsOfTwoTabs(browser, join(folder, 'dist'))).toBe(1)
    },
  )

  test('shares one connection when esbuild builds it and the worker lies beside it or is named, else has one for each tab', async () => {
    const out = join(folder, 'esbuild')
    mkdirSync(out)
    writeFileSync(join(out, 'index.html'), PAGE)
    const bundle = async (program: string): Promise<void> => {
      write('main.js', program)
      const args = ['main.js', '--bundle', '--format=esm', `--outdir=${out}`]
      await run(folder, join(ROOT, 'node_modules/.bin/esbuild'), args)
    }
    await bundle(pageProgram('respcast-client'))
    expect(await connectionsOfTwoTabs(browser, out)).toBe(2)
    const worker = join(folder, 'node_modules/respcast-client/client/tabs-worker.js')
    cpSync(worker, join(out, 'tabs-worker.js'))
    expect(await connectionsOfTwoTabs(browser, out)).toBe(1)
    renameSync(join(out, 'tabs-worker.js'), join(out, 'elsewhere.js'))
    await bundle(pageProgram('respcast-client', '/elsewhere.js'))
    expect(await connectionsOfTwoTabs(browser, out)).toBe(1)
  })
})
