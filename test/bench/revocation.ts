/**
 * Measures revocation among 100,000 live token sessions, in one process on the real code paths: connections without a socket,
 * tokens that are verified, a log that is on disk.
 *
 *     node --expose-gc --import tsx test/bench/revocation.ts [sessions]
 */
import type { Sink } from '../../server/delivery/sink.ts'
import { connectWebSocket } from '../../server/transport/reception.ts'
import { connectRaw, encodeCommand, type RawClient } from '../support/resp-client.ts'
import { startServer, type TestGateway } from '../support/server.ts'

const SESSIONS = Number(process.argv[2] ?? 100_000)
/** Each role has so many sessions. */
const PER_ROLE = 1_000
const ROUNDS = 20
/** Sessions that log in at the same time. */
const BATCH = 200

/** A socket that takes everything and keeps nothing. */
const nowhere: Sink = {
  writer: undefined,
  framed: true,
  pendingBytes: 0,
  write: () => true,
  end: () => {},
  terminate: () => {},
  pause: () => {},
  resume: () => {},
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function heapBytes(): number {
  if (!globalThis.gc) throw new Error('run with --expose-gc')
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

let cpu = process.cpuUsage()

/** Prints times as a clock on the wall shows them, and what of the processor one round took since the last line. */
function show(what: string, milliseconds: readonly number[]): void {
  const { user, system } = process.cpuUsage(cpu)
  const cpuMs = ((user + system) / 1000 / milliseconds.length).toFixed(3)
  const sorted = milliseconds.toSorted((a, b) => a - b)
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number).toFixed(3)
  console.log(
    `${what.padEnd(58)} median ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${at(1)} ms; processor ${cpuMs} ms`,
  )
  cpu = process.cpuUsage()
}

async function connectSessions(server: TestGateway): Promise<void> {
  const connect = async (i: number): Promise<void> => {
    const role = Math.floor(i / PER_ROLE)
    const token = await server.mint(
      `user-${i}`,
      { roles: [`r${role}`], group: `g${i % 100}` },
      { jti: `jti-${i}` },
    )
    const peer = {
      listener: 'public',
      address: `10.0.0.1:${i}`,
      localAddress: '',
      origin: undefined,
    } as const
    const connection = connectWebSocket(server.core, peer, nowhere, token)
    while (!connection.client.authenticated) await nextTurn()
    connection.receive(encodeCommand('SUBSCRIBE', 'news', `room:${role}`))
  }
  for (let from = 0; from < SESSIONS; from += BATCH) {
    const size = Math.min(BATCH, SESSIONS - from)
    await Promise.all(Array.from({ length: size }, (_, i) => connect(from + i)))
  }
  await nextTurn()
}

/** Time from sending a command to reading its one-line reply. */
async function reply(admin: RawClient, ...words: string[]): Promise<number> {
  const startMs = performance.now()
  admin.command(...words)
  const line = await admin.takeUntil('\r\n')
  if (line.startsWith('-')) throw new Error(line)
  return performance.now() - startMs
}

async function main(): Promise<void> {
  const server = await startServer({ directives: { 'auth-timeout': '60', maxclients: '1000000' } })
  const admin = await connectRaw(server.port)
  // The log is silent, but a disk that fails would make the figures worthless.
  server.core.log.error = (what: unknown) => console.error(what)
  for (let role = 0; role * PER_ROLE < SESSIONS; role++) {
    const rules = ['off', 'resetchannels', '&news', `&room:${role}`, '+subscribe']
    await reply(admin, 'ACL', 'SETUSER', `role:r${role}`, ...rules)
  }
  const before = heapBytes()
  const startMs = performance.now()
  await connectSessions(server)
  const perSession = (heapBytes() - before) / SESSIONS
  const { tokens } = server.core
  console.log(
    `${tokens.size} sessions of two subscriptions each, made in ${((performance.now() - startMs) / 1000).toFixed(1)} s`,
  )
  console.log(
    `memory per session: ${(perSession / 1024).toFixed(2)} KB (client, parser, grant, subscriptions, indexes)`,
  )

  const actor = { user: 'bench', address: '' }
  cpu = process.cpuUsage()
  const enforced: number[] = []
  const durable: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const read = tokens.revocation.read(['SUB', `user-${i}`])
    if ('error' in read) throw new Error(read.error)
    const callMs = performance.now()
    const done = tokens.revocation.revoke(read.order, actor)
    enforced.push(performance.now() - callMs)
    await done
    durable.push(performance.now() - callMs)
  }
  show('SUB that hits 1: in force and its session cut', enforced)
  show('SUB that hits 1: on disk (fsync)', durable)

  const replies: number[] = []
  for (let i = 0; i < ROUNDS; i++)
    replies.push(await reply(admin, 'TOKEN', 'REVOKE', 'SUB', `user-${100 + i}`))
  show('SUB that hits 1: reply over TCP', replies)
  const nobody: number[] = []
  for (let i = 0; i < ROUNDS; i++)
    nobody.push(await reply(admin, 'TOKEN', 'REVOKE', 'SUB', `nobody-${i}`))
  show('SUB that hits nobody: reply over TCP', nobody)

  const edits: number[] = []
  const swept: number[] = []
  // The last role may be smaller; those of the first rounds are left out.
  const roles = Math.floor(SESSIONS / PER_ROLE)
  for (let role = 1; role < Math.min(11, roles / 2); role++) {
    const sizeBefore = tokens.size
    edits.push(await reply(admin, 'ACL', 'SETUSER', `role:r${role}`, 'resetchannels', '&news'))
    // All are closed before the reply; what is left to do is to hand their last pushes to the sockets.
    const sentMs = performance.now()
    await nextTurn()
    swept.push(performance.now() - sentMs)
    if (sizeBefore - tokens.size !== PER_ROLE) throw new Error(`hit ${sizeBefore - tokens.size}`)
  }
  show(`role edit that hits ${PER_ROLE}: reply, and all of them cut`, edits)
  show(`role edit that hits ${PER_ROLE}: last push and close handed over`, swept)

  const channel: number[] = []
  for (let role = Math.ceil(roles / 2); role < Math.min(roles, Math.ceil(roles / 2) + 10); role++) {
    channel.push(await reply(admin, 'TOKEN', 'REVOKE', 'CHANNEL', `room:${role}`, 'PERSIST'))
  }
  show(`CHANNEL that hits ${PER_ROLE}: reply, and all of them cut`, channel)
  show('GROUP that hits about 900: reply, and all of them cut', [
    await reply(admin, 'TOKEN', 'REVOKE', 'GROUP', 'g7'),
  ])
  const left = tokens.size
  const all = tokens.revocation.read(['ALL'])
  if ('error' in all) throw new Error(all.error)
  const allMs = performance.now()
  await tokens.revocation.revoke(all.order, actor)
  show(`ALL that hits ${left}: on disk, and all of them cut`, [performance.now() - allMs])
  if (tokens.size > 0) throw new Error('sessions are left')
  admin.destroy()
  await server.stop()
}

await main()
