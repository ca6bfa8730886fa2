import { aclRules } from './acl-rules.ts'
import { claims } from './claims.ts'
import { configuration } from './configuration.ts'
import { Dice } from './dice.ts'
import { keySets } from './key-sets.ts'
import { parser } from './parser.ts'
import { proxyProtocol } from './proxy-protocol.ts'
import { upgrade } from './upgrade.ts'

/** Makes an input of random choices, hands it over, and throws if what comes of it is not allowed. */
type FuzzCase = (dice: Dice) => void | Promise<void>

/** A part of the server that takes what strangers write. */
export interface FuzzTarget {
  readonly name: string
  open(): FuzzCase | Promise<FuzzCase>
}

/** All of them. */
export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  parser,
  proxyProtocol,
  upgrade,
  claims,
  aclRules,
  configuration,
  keySets,
]

/** An input after which something was not as it has to be. */
export interface Finding {
  readonly target: string
  /** With the same seed it gives the same input again. */
  readonly index: number
  readonly error: unknown
}

/** Range of inputs of a run. */
export interface FuzzRun {
  readonly seed: number
  readonly from: number
  readonly count: number
  /** Findings after which a target is given up. */
  readonly most: number
}

/** Runs a target over a range of inputs. */
export async function fuzz(target: FuzzTarget, run: FuzzRun): Promise<Finding[]> {
  const one = await target.open()
  const findings: Finding[] = []
  for (let index = run.from; index < run.from + run.count && findings.length < run.most; index++) {
    try {
      // Neighbours have nothing in common: the generator mixes its seed well.
      const outcome = one(new Dice(Math.imul(run.seed, 0x9e3779b1) + index))
      if (outcome) await outcome
    } catch (error) {
      findings.push({ target: target.name, index, error })
    }
  }
  return findings
}
