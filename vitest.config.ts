import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Tests keep no state in modules, so that files share one module graph (`isolate: false`): most of a short file's time is
// its imports. Many wait for sockets and processes, so that a second worker pays even on two cores.
const parallel = {
  isolate: false,
  maxWorkers: Math.max(2, availableParallelism() - 1),
  testTimeout: 30_000,
}

export default defineConfig({
  test: {
    reporters: ['default', './test/support/missing-reporter.ts'],
    projects: [
      {
        test: {
          ...parallel,
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/property/**/*.test.ts'],
        },
      },
      {
        test: {
          ...parallel,
          name: 'integration',
          globalSetup: 'test/support/build.ts',
          include: ['test/integration/**/*.test.ts', 'test/interop/**/*.test.ts'],
        },
      },
      {
        test: {
          ...parallel,
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          testTimeout: 60_000,
        },
      },
      {
        // Chromium wants the machine for itself. All files share one, and one module graph.
        test: {
          name: 'browser',
          isolate: false,
          globalSetup: 'test/browser/shared-chromium.ts',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 60_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
