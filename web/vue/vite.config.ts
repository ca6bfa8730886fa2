import { defineConfig } from 'vite'

/** The bindings of Vue: `vue.js`. It contains neither Vue nor the client. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  build: {
    target: 'es2022',
    outDir: '../../dist/vue',
    emptyOutDir: true,
    sourcemap: true,
    lib: { entry: 'index.ts', formats: ['es'], fileName: () => 'vue.js' },
    rolldownOptions: { external: ['vue'] },
  },
})
