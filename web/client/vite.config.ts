import { gzipSync } from 'node:zlib'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

/** Prints what a page has to load. */
function reportSizes(): Plugin {
  return {
    name: 'report-sizes',
    writeBundle(_options, bundle) {
      for (const output of Object.values(bundle)) {
        if (output.type !== 'chunk') continue
        const bytes = Buffer.byteLength(output.code)
        const gzipBytes = gzipSync(output.code).length
        console.log(`${output.fileName}: ${bytes} bytes, ${gzipBytes} with gzip`)
      }
    },
  }
}

/** The client library: `client.js` for modules, `client.global.js` for a plain script (`Respcast.connect`). */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [reportSizes()],
  build: {
    target: 'es2022',
    minify: true,
    outDir: '../../dist/client',
    emptyOutDir: true,
    sourcemap: true,
    lib: {
      entry: 'index.ts',
      name: 'Respcast',
      formats: ['es', 'iife'],
      fileName: (format) => (format === 'es' ? 'client.js' : 'client.global.js'),
    },
  },
})
