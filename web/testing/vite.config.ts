import { defineConfig } from 'vite'

/** The server in memory for tests of applications: `testing.js`. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  build: {
    target: 'es2022',
    outDir: '../../dist/testing',
    emptyOutDir: true,
    sourcemap: true,
    minify: false,
    lib: { entry: 'index.ts', formats: ['es'], fileName: () => 'testing.js' },
  },
})
