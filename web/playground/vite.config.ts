import { defineConfig } from 'vite'

/**
 * The page that the server shows at `/`. Everything is a file of its own: the page's policy is `default-src 'self'`, which
 * forbids inline scripts, inline styles and `data:` addresses.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build: {
    target: 'es2022',
    outDir: '../../dist/page',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
  },
})
