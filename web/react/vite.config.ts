import { gzipSync } from 'node:zlib'
import { defineConfig } from 'vite'

/**
 * The hooks for React: `react.js`. It contains neither React nor the client. It is marked as code of the browser, so that server
 * components may import it.
 */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [
    {
      name: 'report-sizes',
      writeBundle(_options, bundle) {
        for (const output of Object.values(bundle)) {
          if (output.type !== 'chunk') continue
          const gzipBytes = gzipSync(output.code).length
          console.log(`${output.fileName}: ${output.code.length} bytes, ${gzipBytes} with gzip`)
        }
      },
    },
  ],
  build: {
    target: 'es2022',
    outDir: '../../dist/react',
    emptyOutDir: true,
    sourcemap: true,
    lib: { entry: 'index.ts', formats: ['es'], fileName: () => 'react.js' },
    rolldownOptions: { external: ['react'], output: { banner: `'use client';` } },
  },
})
