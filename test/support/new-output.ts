import type { Output } from '../../server/delivery/output.ts'
import { TestServer } from './test-server-parts.ts'

/** The output of a client that nobody else knows. */
export function newOutput(): Output {
  return new TestServer().connect().client.output
}
