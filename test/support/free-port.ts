import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/** Services of the machine listen below. */
const FIRST = 12_000

/** Where Linux begins to give out ports by itself, unless it says otherwise. */
const USUAL_END = 32_768

/** As many processes can ask at once without meeting. */
const STRIPES = 16

/** This process's ports are those of one remainder. */
const STRIPE = Number(process.env['VITEST_POOL_ID'] ?? process.pid) % STRIPES

/** The first port that the system gives to connections and to listeners on port 0. */
function endOfPorts(): number {
  try {
    const [low] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)
    return Number(low) > FIRST + 1_000 ? Number(low) : USUAL_END
  } catch {
    return USUAL_END
  }
}

const COUNT = Math.floor((endOfPorts() - FIRST) / STRIPES)

/** Starts anywhere, so that a port of a run before, which may still have connections in TIME_WAIT, is rarely met. */
let next = Math.floor(Math.random() * COUNT)

/**
 * A port of 127.0.0.1 on which nobody listens, for a server that cannot be started on port 0.
 *
 * It stays free until it is used: the system gives it to no connection, this process does not answer it again soon, and other
 * test processes take theirs from another stripe.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    next = (next + 1) % COUNT
    const port = FIRST + next * STRIPES + STRIPE
    if (await isFree(port)) return port
  }
  throw new Error('no free port')
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
