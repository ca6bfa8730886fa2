import { defineConfig } from 'vite'

/**
 * The operator's console, which the administrators' listener shows at `/`. Everything is a file of its own: the page's policy
 * is `default-src 'self'`, which forbids inline scripts, inline styles and `data:` addresses.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    outDir: '../../dist/console',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
  },
})
