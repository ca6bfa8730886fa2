import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/process.ts'
import type { ChaosOptions } from './chaos.ts'

/** A guard of the upstream that is taken out on purpose. */
export interface Mutant {
  /** What no longer holds. */
  readonly name: string
  /** Of the built program. */
  readonly file: string
  /** Occurs exactly once. */
  readonly search: string
  readonly replace: string
  /** Where it shows. */
  readonly topology: ChaosOptions['topology']
  readonly faults: readonly string[]
  /** Faults last long. */
  readonly isLong?: boolean
}

/** Each of them has to be caught. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a pattern gets its messages from its own cover alone',
    file: 'server/upstream/node-links.js',
    search: '(pattern) => interest.isUnder(pattern, source)',
    replace: '() => true',
    topology: 'standalone',
    faults: [],
  },
  {
    name: 'a subscription is confirmed when the upstream has confirmed it',
    file: 'server/upstream/interest.js',
    search: 'if (missing === 0) {',
    replace: 'if (missing >= 0) {',
    topology: 'standalone',
    faults: ['kill'],
  },
  {
    name: 'a gap is told',
    file: 'server/upstream/gaps.js',
    search: 'if (!gap.missing.delete(source) || gap.missing.size > 0)',
    replace: 'if (true)',
    topology: 'standalone',
    faults: ['kill-subscribers'],
  },
  {
    name: 'a gap begins at the last proof, and not when the end of the link is noticed',
    file: 'server/upstream/gaps.js',
    search: 'const fromMs = this.#clock.wallMs() - (this.#clock.monotonicMs() - lastProofMs);',
    replace: 'const fromMs = this.#clock.wallMs();',
    topology: 'standalone',
    faults: ['one-way-down'],
    isLong: true,
  },
  {
    name: 'a beacon proves what was before it was sent, and not what is when it is read',
    file: 'server/upstream/node-links.js',
    search: 'this.#provenMs = sentMs;',
    replace: 'this.#provenMs = clock.monotonicMs();',
    topology: 'standalone',
    faults: ['kill-subscribers-unseen'],
  },
  {
    name: 'a gap lasts until the names are confirmed again',
    file: 'server/upstream/gaps.js',
    search: 'toMs: Math.ceil(toMs)',
    replace: 'toMs: Math.ceil(fromMs)',
    topology: 'standalone',
    faults: ['kill-subscribers'],
  },
  {
    name: 'names are subscribed to again after a reconnect',
    file: 'server/upstream/interest.js',
    search: 'if (linkOf(source) !== link)',
    replace: 'if (true)',
    topology: 'standalone',
    faults: ['kill-subscribers'],
  },
  {
    name: "the gateway's own subscriptions are taken from the number of PUBLISH",
    file: 'server/upstream/flight.js',
    search: 'Math.max(this.#answer - this.#met, 0)',
    replace: 'this.#answer',
    topology: 'standalone',
    faults: [],
  },
  {
    name: 'PUBLISH is answered when the message has come back',
    file: 'server/upstream/flight.js',
    search: 'if (this.#answer === undefined || !this.hasCome)',
    replace: 'if (this.#answer === undefined)',
    topology: 'standalone',
    faults: [],
  },
  {
    name: 'what was sent when the link broke is unknown',
    file: 'server/upstream/link/command-link.js',
    search: '?.lost(at < sent)',
    replace: '?.lost(false)',
    topology: 'standalone',
    faults: ['one-way-down'],
    isLong: true,
  },
  {
    name: 'a silent link is noticed',
    file: 'server/upstream/node-links.js',
    search: 'const SILENT_MS = 3_000;',
    replace: 'const SILENT_MS = 3_000_000;',
    topology: 'standalone',
    faults: ['one-way-down'],
    isLong: true,
  },
  {
    name: 'links follow the master',
    file: 'server/upstream/topology/single.js',
    search: 'this.#node.connectTo(node);',
    replace: 'if (!this.#node.node) this.#node.connectTo(node);',
    topology: 'sentinel',
    faults: ['failover'],
  },
  {
    name: 'a shard channel whose slot has moved is subscribed to again',
    file: 'server/upstream/link/subscriber-link.js',
    search: 'this.#user.lost(source);',
    replace: '',
    topology: 'cluster',
    faults: ['move-slot'],
  },
]

const FOLDER = join(ROOT, 'dist/mutants')

/**
 * A copy of the built program with one change, in a folder where its packages are found.
 *
 * @throws Error What is to be changed is not there exactly once.
 */
export function buildMutant(
  { name, file, search, replace }: Pick<Mutant, 'name' | 'file' | 'search' | 'replace'>,
  serial: number,
): string {
  const dist = join(FOLDER, `${serial}`, 'dist')
  rmSync(join(FOLDER, `${serial}`), { recursive: true, force: true })
  mkdirSync(dist, { recursive: true })
  for (const part of ['server', 'shared'])
    cpSync(join(ROOT, 'dist', part), join(dist, part), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(dist, '../package.json'))
  for (const part of ['page', 'console', 'client'])
    symlinkSync(join(ROOT, 'dist', part), join(dist, part))
  const path = join(dist, file)
  const code = readFileSync(path, 'utf8')
  const pieces = code.split(search)
  if (pieces.length !== 2) {
    throw new Error(`'${name}': ${file} has '${search}' ${pieces.length - 1} times instead of once`)
  }
  writeFileSync(path, pieces.join(replace))
  return dist
}

/** Removes what {@link buildMutant} has built. */
export function removeMutants(): void {
  rmSync(FOLDER, { recursive: true, force: true })
}
