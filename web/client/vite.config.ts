import { gzipSync } from 'node:zlib'
import { build, defineConfig } from 'vite'
import type { Plugin, UserConfig } from 'vite'

/** The most that `client.js` may have, minified and with gzip. Bytes. */
const MAX_GZIP_BYTES = 11_000

/** Prints what a page has to load, and fails where that is more than promised. */
function reportSizes(): Plugin {
  return {
    name: 'report-sizes',
    writeBundle(_options, bundle) {
      for (const output of Object.values(bundle)) {
        if (output.type !== 'chunk') continue
        const bytes = Buffer.byteLength(output.code)
        const gzipBytes = gzipSync(output.code, { level: 9 }).length
        console.log(`${output.fileName}: ${bytes} bytes, ${gzipBytes} with gzip`)
        if (output.fileName === 'client.js' && gzipBytes > MAX_GZIP_BYTES)
          throw new Error(`client.js may have ${MAX_GZIP_BYTES} bytes with gzip`)
      }
    },
  }
}

/** Keeps `tabs.js` and `fallback.js` files of their own, beside whatever loads it. */
function separateTabs(): Plugin {
  return {
    name: 'separate-tabs',
    enforce: 'pre',
    resolveId: (id) =>
      id === './tabs.ts' || id === './fallback.ts'
        ? { id: id.replace('.ts', '.js'), external: true }
        : undefined,
  }
}

const shared: UserConfig = {
  root: import.meta.dirname,
  logLevel: 'warn',
}

const output = {
  target: 'es2022',
  minify: true,
  sourcemap: true,
  modulePreload: false,
  outDir: '../../dist/client',
} as const

const VITE_IGNORE = '/* @vite-ignore */'

/**
 * Takes the comment out that keeps Vite from making the worker here and now: the bundler of the application must find the bare
 * expression. Blanks take its place, so that the source map stays right.
 */
function bareWorkerAddress(): Plugin {
  return {
    name: 'bare-worker-address',
    renderChunk: (code) => ({
      code: code.replaceAll(VITE_IGNORE, ' '.repeat(VITE_IGNORE.length)),
      map: null,
    }),
  }
}

/**
 * Builds the parts that `share: 'tabs'` and `transports` load on demand. The worker is whole: it shares no file with the page.
 *
 * `tabs.js` is not minified: bundlers look for `new SharedWorker(new URL("...", import.meta.url), { type: "module" })` with quotes,
 * and a minifier makes other strings of them.
 */
function alsoBuildTabs(): Plugin {
  return {
    name: 'also-build-tabs',
    async closeBundle() {
      for (const [folder, name, minify] of [
        ['tabs', 'tabs', false],
        ['tabs', 'tabs-worker', true],
        ['fallback', 'fallback', true],
      ] as const) {
        await build({
          ...shared,
          configFile: false,
          plugins: [bareWorkerAddress(), reportSizes()],
          build: {
            ...output,
            minify,
            emptyOutDir: false,
            lib: { entry: `${folder}/${name}.ts`, formats: ['es'], fileName: () => `${name}.js` },
            rolldownOptions: { output: { minify } },
          },
        })
      }
    },
  }
}

/** The client library: `client.js` for modules, `client.global.js` for a plain script (`Respcast.connect`). */
export default defineConfig({
  ...shared,
  plugins: [reportSizes(), separateTabs(), alsoBuildTabs()],
  build: {
    ...output,
    emptyOutDir: true,
    lib: {
      entry: 'index.ts',
      name: 'Respcast',
      formats: ['es', 'iife'],
      fileName: (format) => (format === 'es' ? 'client.js' : 'client.global.js'),
    },
    rolldownOptions: { output: { minify: true, comments: false } },
  },
})
