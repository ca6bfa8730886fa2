import { defineConfig } from 'vitest/config'

/** Takes minutes and the registry, so it is not part of `npm test`: `.ci/packages`. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    globalSetup: 'test/support/build.ts',
    include: ['test/packages/*.test.ts'],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
})
