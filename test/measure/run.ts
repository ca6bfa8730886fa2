/**
 * Prints the figures of docs/security.md that no test asserts, since they depend on the machine: `npm run measure`.
 *
 * Times are CPU time of this process, so that others on the machine do not count.
 */
import { passwordLogsIn } from '../../server/acl/password.ts'
import { RequestParser } from '../../server/resp/request-parser.ts'
import { compileGlob } from '../../shared/glob.ts'
import { TCP_LIMITS } from '../support/parse-requests.ts'
import { command, TestCore } from '../support/test-core.ts'
import { userOf } from '../support/tokens.ts'
import { identicalBytes } from './identical-bytes.ts'

/** CPU time in ms. */
function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN
}

function collected(): NodeJS.MemoryUsage {
  if (!globalThis.gc) throw new Error('run with --expose-gc')
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage()
}

const print = (row: string, text: string): void => console.log(`${row}  ${text}`)
const ms = (number: number): string => `${number.toFixed(number < 10 ? 2 : 0)} ms`

function globs(): void {
  const killers = {
    '(a*)x30 b': `${'a*'.repeat(30)}b`,
    '(*a)x250 b': `${'*a'.repeat(250)}b`,
    'a class of 500': `*[${'b'.repeat(500)}]`,
  }
  for (const [name, pattern] of Object.entries(killers)) {
    const glob = compileGlob(pattern)
    for (const length of [256, 65_536]) {
      const subject = 'a'.repeat(length)
      print('R10', `${name} on ${length} bytes: ${ms(cpuMs(() => glob.matches(subject)))}`)
    }
  }
}

function patterns(): void {
  const core = new TestCore()
  const subscriber = core.connect({ protocol: 3 })
  for (let at = 0; at < 10_000; at++) subscriber.send('PSUBSCRIBE', `tenant:${at}:*`)
  const publisher = core.connect()
  const times = Array.from({ length: 200 }, (_, at) =>
    cpuMs(() => publisher.send('PUBLISH', `tenant:${at * 50}:x`, 'm')),
  )
  print(
    'R11',
    `PUBLISH to a new name with 10,000 patterns: median ${ms(median(times))}, worst ${ms(Math.max(...times))}`,
  )
}

function amplification(): void {
  const core = new TestCore({ 'ws-max-patterns': '16' })
  const client = core.connect({ transport: 'websocket' })
  client.becomeDefault()
  client.send('SUBSCRIBE', 'a')
  for (let stars = 1; stars <= 16; stars++) client.send('PSUBSCRIBE', '*'.repeat(stars))
  core.connect().send('PUBLISH', 'a', 'x'.repeat(10_000))
  print(
    'R13',
    `a publish of 10,000 bytes to a channel and 16 patterns of one WebSocket: ${client.read().length} bytes`,
  )
  const names = Array<string>(64).fill('n'.repeat(200))
  const sent = command('SUBSCRIBE', ...names).length
  print(
    'R15',
    `SUBSCRIBE of a name 64 times: ${sent} bytes in, ${client.send('SUBSCRIBE', ...names).length} bytes out`,
  )
}

function subscriptions(): void {
  const core = new TestCore()
  const before = collected()
  let client = core.connect({ protocol: 3 })
  const subscribe = (): void => {
    for (let at = 0; at < 100_000; at += 100) {
      client.send('SUBSCRIBE', ...Array.from({ length: 100 }, (_, i) => `channel:${at + i}`))
    }
  }
  subscribe()
  const one = collected()
  // What is left of a closed client goes at the end of the turn.
  const close = (): void => {
    client.client.peerClosed()
    core.turn.end()
  }
  print(
    'R14',
    `${Math.round((one.heapUsed + one.external - before.heapUsed - before.external) / 100_000)} bytes for a subscription of one to a channel of its own`,
  )
  for (let cycle = 0; cycle < 5; cycle++) {
    close()
    client = core.connect({ protocol: 3 })
    subscribe()
  }
  close()
  client = core.connect()
  const after = collected()
  const kept = after.heapUsed - before.heapUsed
  print(
    'R14',
    `after 5 cycles of 100,000: ${(kept / 1_048_576).toFixed(1)} MB of ${((one.heapUsed - before.heapUsed) / 1_048_576).toFixed(1)} MB are kept`,
  )
}

function parsing(): void {
  const silent = new RequestParser(TCP_LIMITS)
  silent.feed(Buffer.from('*1048576\r\n$536870912\r\nx'))
  silent.next()
  print('R19', `*1048576 and $536870912, then silence: ${silent.pendingBytes} bytes are held`)
  const size = 67_108_864
  const piece = Buffer.alloc(65_536, 'x')
  const parser = new RequestParser(TCP_LIMITS)
  const before = collected()
  let most = 0
  const time = cpuMs(() => {
    parser.feed(Buffer.from(`*1\r\n$${size}\r\n`))
    parser.next()
    for (let at = 0; at < size; at += piece.length) {
      parser.feed(Buffer.from(piece))
      parser.next()
      most = Math.max(most, process.memoryUsage.rss())
    }
    parser.feed(Buffer.from('\r\n'))
    if (!parser.next()) throw new Error('not whole')
  })
  print(
    'R21',
    `64 MB in pieces of 64 KiB: ${ms(time)}, ${Math.round((most - before.rss) / 1_048_576)} MB more resident`,
  )
  const bytes = command('PING', 'x'.repeat(65_536))
  const slow = new RequestParser(TCP_LIMITS)
  let found = 0
  const single = cpuMs(() => {
    for (const byte of bytes) {
      slow.feed(Buffer.of(byte))
      if (slow.next()) found++
    }
  })
  if (found !== 1) throw new Error('not one request')
  print('R21', `64 KiB a byte at a time: ${ms(single)}`)
}

function passwords(): void {
  const known = userOf('u', 'on >right')
  const nanoseconds = (user: typeof known | undefined): number =>
    median(
      Array.from({ length: 10_000 }, () => {
        const start = process.hrtime.bigint()
        passwordLogsIn(user, 'wrong')
        return Number(process.hrtime.bigint() - start)
      }),
    )
  // The first rounds are slower for whoever comes first.
  nanoseconds(known)
  nanoseconds(undefined)
  const [one, other] = [nanoseconds(known), nanoseconds(undefined)]
  print(
    'R34',
    `a wrong password takes ${one} ns for a user, ${other} ns for nobody: ${((100 * Math.abs(one - other)) / one).toFixed(1)} % apart (medians of 10,000)`,
  )
}

globs()
patterns()
amplification()
subscriptions()
parsing()
passwords()
const messages = 100_000
const start = performance.now()
const different = await identicalBytes(messages, 41)
print(
  'R41',
  `${messages} random messages to ten subscribers: ${different.length} differ, ${((performance.now() - start) / 1000).toFixed(0)} s`,
)
for (const { server, subscriber } of different) print('R41', `  ${server}: ${subscriber}`)
process.exit(different.length === 0 ? 0 : 1)
