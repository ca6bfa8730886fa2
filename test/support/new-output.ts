import type { Output } from '../../server/delivery/output.ts'
import { TestCore } from './test-core.ts'

/** The output of a client that nobody else knows. */
export function newOutput(): Output {
  return new TestCore().connect().client.output
}
