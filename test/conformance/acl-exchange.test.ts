import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { identify, type OracleIdentity } from '../support/oracle.ts'
import { SeededRandom } from '../support/oracle-random.ts'
import { connectControl, type Control } from '../support/oracle-session.ts'
import { findProgram, startRedisServer, type RunningServer } from '../support/redis-servers.ts'
import { startServer, type TestGateway } from '../support/server.ts'
import { bulk } from '../support/transcript-frames.ts'
import { escapeBytes, joinWords } from '../support/transcript.ts'
import { parseReply, stringsOf } from '../support/transcript-values.ts'
import { randomRules, type RuleWords } from './acl-exchange-rules.ts'
import { applyRules } from './rules.ts'

const PROGRAM = findProgram('valkey-server')
if (PROGRAM === undefined) {
  const message = 'valkey-server is not installed: no ACL file is exchanged with it'
  if (process.env['CI'] === 'true') throw new Error(message)
  process.stderr.write(`${message}\n`)
}

/** Sets of rules whose ACL GETUSER is compared. */
const SETS = 500

const OK = '+OK\r\n'

let dir: string
let theirFile: string
let ourFile: string
let theirs: RunningServer
let ours: TestGateway
let oracle: Control
let respcast: Control
let identity: OracleIdentity

async function strings(control: Control, ...command: readonly string[]): Promise<string[]> {
  return stringsOf(parseReply(await control.ask(...command)))
}

async function common(...command: readonly string[]): Promise<string[]> {
  const known = new Set(await strings(respcast, ...command))
  return (await strings(oracle, ...command)).filter((word) => known.has(word))
}

/** Every user of ACL LIST or of a file, sorted, the oracle's as Respcast would write it. */
function asOurs(lines: readonly string[]): string[] {
  return lines
    .map((line) => applyRules(identity, bulk(line)))
    .map((line) => escapeBytes(line.slice(line.indexOf('\n') + 1, -2)))
    .toSorted()
}

function linesOf(file: string): string[] {
  const text = readFileSync(file, 'latin1')
  return text.split('\n').filter((line) => line !== '')
}

describe.skipIf(PROGRAM === undefined)('ACL users are exchanged with Valkey:', () => {
  let words: RuleWords

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'respcast-acl-exchange-'))
    theirFile = join(dir, 'theirs.acl')
    ourFile = join(dir, 'ours.acl')
    for (const file of [theirFile, ourFile]) writeFileSync(file, '')
    theirs = await startRedisServer(PROGRAM ?? '', ['--aclfile', theirFile])
    ours = await startServer({ issuer: false, directives: { aclfile: ourFile } })
    identity = await identify(theirs.host, theirs.port)
    oracle = await connectControl(theirs.port, theirs.host)
    respcast = await connectControl(ours.port)
    const commands = await common('COMMAND', 'LIST')
    words = { commands, categories: await common('ACL', 'CAT') }
  })

  afterAll(async () => {
    oracle.close()
    respcast.close()
    await ours.stop()
    await theirs.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  beforeEach(async () => {
    for (const control of [oracle, respcast]) {
      const users = await strings(control, 'ACL', 'USERS')
      await control.ask('ACL', 'DELUSER', ...users.filter((name) => name !== 'default'), 'nobody')
    }
  })

  /** SETUSER on both, one to three times for each user. */
  async function makeUsers(seed: number, count: number): Promise<void> {
    const random = new SeededRandom(seed)
    for (let i = 0; i < count; i++) {
      for (const rules of random.several(1, 3, () => randomRules(random, words))) {
        const command = ['ACL', 'SETUSER', `u${i}\xe9`, ...rules]
        const [expected, answer] = await Promise.all([
          oracle.ask(...command),
          respcast.ask(...command),
        ])
        expect(escapeBytes(answer), joinWords(command)).toBe(escapeBytes(expected))
      }
    }
  }

  test('both name the commands and categories that the rules below are made of', () => {
    expect(words.commands.length).toBeGreaterThan(100)
    expect(words.categories).toContain('pubsub')
    expect(words.categories.length).toBeGreaterThan(15)
  })

  for (const protocol of ['2', '3'] as const) {
    test(`ACL GETUSER is the same after ${SETS} random sets of rules, in RESP${protocol}`, async () => {
      const random = new SeededRandom(100 + Number(protocol))
      for (const control of [oracle, respcast]) await control.ask('HELLO', protocol)
      let refused = 0
      for (let i = 0; i < SETS; i++) {
        const rules = randomRules(random, words)
        const name = `u${i >> 1}`
        const command = ['ACL', 'SETUSER', name, ...rules]
        const [expected, answer] = await Promise.all([
          oracle.ask(...command),
          respcast.ask(...command),
        ])
        expect(escapeBytes(answer), joinWords(command)).toBe(escapeBytes(expected))
        if (answer !== OK) refused++
        const [their, our] = await Promise.all([
          oracle.ask('ACL', 'GETUSER', name),
          respcast.ask('ACL', 'GETUSER', name),
        ])
        expect(escapeBytes(our), joinWords(command)).toBe(escapeBytes(applyRules(identity, their)))
      }
      for (const control of [oracle, respcast]) await control.ask('HELLO', '2')
      expect(refused).toBeGreaterThan(SETS / 20)
      expect(refused).toBeLessThan(SETS / 2)
    })
  }

  test('both save the same users', async () => {
    await makeUsers(21, 150)
    expect(await oracle.ask('ACL', 'SAVE')).toBe(OK)
    expect(await respcast.ask('ACL', 'SAVE')).toBe(OK)
    const lines = linesOf(ourFile)
    expect(lines.length).toBeGreaterThan(100)
    expect(lines.map(escapeBytes).toSorted()).toEqual(asOurs(linesOf(theirFile)))
  })

  test('the file that Valkey saves is loaded here, by ACL LOAD and at start', async () => {
    await makeUsers(22, 150)
    expect(await oracle.ask('ACL', 'SAVE')).toBe(OK)
    const expected = asOurs(await strings(oracle, 'ACL', 'LIST'))
    copyFileSync(theirFile, ourFile)
    await respcast.ask('ACL', 'DELUSER', 'u0\xe9')
    expect(await respcast.ask('ACL', 'LOAD')).toBe(OK)
    expect(asOurs(await strings(respcast, 'ACL', 'LIST'))).toEqual(expected)
    const fresh = await startServer({ issuer: false, directives: { aclfile: theirFile } })
    const control = await connectControl(fresh.port)
    expect(asOurs(await strings(control, 'ACL', 'LIST'))).toEqual(expected)
    control.close()
    await fresh.stop()
  })

  test('the file that is saved here is loaded by Valkey, by ACL LOAD and at start', async () => {
    await makeUsers(23, 150)
    expect(await respcast.ask('ACL', 'SAVE')).toBe(OK)
    const expected = asOurs(await strings(respcast, 'ACL', 'LIST'))
    copyFileSync(ourFile, theirFile)
    await oracle.ask('ACL', 'DELUSER', 'u0\xe9')
    expect(await oracle.ask('ACL', 'LOAD')).toBe(OK)
    expect(asOurs(await strings(oracle, 'ACL', 'LIST'))).toEqual(expected)
    const fresh = await startRedisServer(PROGRAM ?? '', ['--aclfile', ourFile])
    const control = await connectControl(fresh.port, fresh.host)
    expect(asOurs(await strings(control, 'ACL', 'LIST'))).toEqual(expected)
    control.close()
    await fresh.stop()
  })

  test('saving and loading changes nothing, however often', async () => {
    await makeUsers(24, 100)
    const before = await strings(respcast, 'ACL', 'LIST')
    for (let i = 0; i < 3; i++) {
      expect(await respcast.ask('ACL', 'SAVE')).toBe(OK)
      expect(await respcast.ask('ACL', 'LOAD')).toBe(OK)
    }
    expect(await strings(respcast, 'ACL', 'LIST')).toEqual(before)
    expect(before).toContain('user default on nopass ~* &* +@all')
  })
})
