import type { Mutant } from '../mutants.ts'
import type { ControlChaosOptions } from './control-chaos.ts'

/** A guard of the control plane that is taken out on purpose. */
export interface ControlMutant extends Omit<Mutant, 'topology'> {
  readonly topology?: ControlChaosOptions['topology']
  readonly kinds?: ControlChaosOptions['kinds']
  /** Time between two orders at a gateway, in ms. */
  readonly restMs?: number
}

/** Entries that take a while to be in force, as they are applied. */
const PAUSED = `        this.#host.pause();
        void result.then((sessions) => {
            if (era === this.#era)
                this.#advance(logged, sessions);
            this.#host.resume();
`

/** Each of them has to be caught. */
export const CONTROL_MUTANTS: readonly ControlMutant[] = [
  {
    name: 'an entry follows the one before it',
    file: 'server/control/follower.js',
    search: 'if (logged.previous !== this.position.id) {',
    replace: 'if (false) {',
    faults: ['unheard'],
    restMs: 50,
  },
  {
    name: 'a gateway fences itself before its lease ends',
    file: 'server/control/shared-control.js',
    search: 'if (this.#parts.clock.monotonicMs() >= this.#lease.servesUntilMs)',
    replace: 'if (false)',
    faults: ['refuse-scripts'],
    isLong: true,
  },
  {
    name: 'a gateway that is fenced writes nothing of what waits',
    file: 'server/client/fence.js',
    search: 'client.output.withhold();',
    replace: '',
    faults: ['stop-clogged'],
    kinds: ['grow'],
  },
  {
    name: 'nothing is read while sessions are cut',
    file: 'server/control/follower.js',
    search: PAUSED,
    replace: PAUSED.replaceAll(/^.*(?:pause|resume)\(\);\n/gm, ''),
    faults: ['crowd'],
    kinds: ['grow'],
  },
  {
    name: 'what the upstream lacks is committed anew',
    file: 'server/control/follower.js',
    search: 'if (lacking.length > 0) {',
    replace: 'lacking.length = 0; if (false) {',
    faults: ['flush'],
  },
  {
    name: 'what was applied is on disk',
    file: 'server/token/revoke/journal.js',
    search: "const written = this.#write(Buffer.from(lines, 'latin1'), registers.length + 1);",
    replace: 'const written = Promise.resolve(true);',
    faults: ['kill-all'],
  },
  {
    name: 'an entry has the signature of a gateway',
    file: 'server/control/signature.js',
    search: "? undefined : 'forged'",
    replace: '? undefined : undefined',
    faults: ['forge'],
  },
  {
    name: 'an edit follows the version before it',
    file: 'server/control/scripts.js',
    search: 'isWritten = storedVersion == version - 1',
    replace: 'isWritten = true',
    faults: [],
    kinds: ['role', 'grow'],
    restMs: 10,
  },
  {
    name: 'a kill is for what was there when it was ordered',
    file: 'server/client/shared-kills.js',
    search: 'Math.max(0, this.#upstreamMs() - atMs)',
    replace: '0',
    faults: ['replay-kills'],
    kinds: ['kill'],
    restMs: 100,
  },
  {
    name: 'a commit reaches the other gateways',
    file: 'server/control/follower.js',
    search: 'const applied = this.#putInForce(ledger.newer(registers), change);',
    // Users do: without roles nobody would have anything to lose.
    replace:
      "const applied = this.#putInForce(ledger.newer(registers).filter(({ key }) => !key.startsWith('r:')), change);",
    faults: [],
  },
]
