import { defineConfig } from 'vite'

/** The bindings of Svelte: `svelte.js`. It contains no client. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  build: {
    target: 'es2022',
    outDir: '../../dist/svelte',
    emptyOutDir: true,
    sourcemap: true,
    lib: { entry: 'index.ts', formats: ['es'], fileName: () => 'svelte.js' },
  },
})
