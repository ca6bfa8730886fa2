import type { Clock } from '../clock.ts'
import type { Control } from './control.ts'
import type { NodeFacts } from './shared-control.ts'

/** The control plane of a gateway that shares nothing: every change is made here, and nobody else is to hear of it. */
export function aloneControl(clock: Clock, describe: () => NodeFacts): Control {
  return {
    isAlone: true,
    number: 0,
    share: () => {},
    start: () => {},
    commit: () =>
      Promise.resolve({
        state: 'committed',
        sessions: 0,
        confirmed: [],
        missing: [],
        fenced: [],
        isDurable: true,
        isHere: true,
      }),
    refusal: undefined,
    onFence: () => {},
    checkLease: () => {},
    get self() {
      return { ...describe(), id: '', number: 0, applied: '', parts: [] }
    },
    nodes: [],
    questions: undefined,
    problems: [],
    figures: undefined,
    get upstreamMs() {
      return clock.wallMs()
    },
    stop: () => Promise.resolve(),
  }
}
