import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RespValue } from '../../../shared/resp/types.ts'
import { folderWith } from '../../support/folder.ts'
import { ROOT } from '../../support/process.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { connectRaw, type RawClient } from '../../support/resp-client.ts'
import { textOf, waitUntil } from '../../support/topologies/ask-node.ts'
import { GatewayProcess } from '../../support/topologies/gateway.ts'
import { startCluster } from '../../support/topologies/cluster.ts'
import { Node, type Program } from '../../support/topologies/node.ts'
import { startSentinelTrio } from '../../support/topologies/sentinel.ts'

const PAGE = readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8')
const [, PASSWORD = '', RULES = ''] = /^ACL SETUSER gateways on >(\S+) (.*)$/m.exec(PAGE) ?? []

/** What the page adds: for advice, and for servers that know CLIENT SETINFO. */
const MORE: Readonly<Record<Program, readonly string[]>> = {
  'redis-server': ['+config|get'],
  'valkey-server': ['+config|get', '+client|setinfo'],
}

/** `pubsub` of `pubsub|numsub`; a command without subcommands as it is. */
function containerOf(command: string): string {
  return command.split('|', 1)[0] ?? ''
}

/** The fields of ACL LOG that say what was refused. */
function refusals(reply: RespValue): string[] {
  return (reply as readonly (readonly RespValue[])[]).map((entry) => textOf(entry[7]))
}

async function client(gateway: GatewayProcess): Promise<RawClient> {
  const raw = await connectRaw(gateway.port)
  onTestFinished(() => raw.destroy())
  return raw
}

/** Makes the user on nodes. @returns The directives of a gateway that logs in as it. */
async function userOn(
  nodes: readonly Node[],
  rules: readonly string[],
  prefix = '--upstream',
): Promise<string[]> {
  for (const node of nodes) {
    await node.ask('ACL', 'SETUSER', 'gateways', 'on', `>${PASSWORD}`, ...rules)
  }
  const file = join(folderWith(), 'password')
  writeFileSync(file, `${PASSWORD}\n`, { mode: 0o600 })
  return [`${prefix}-user`, 'gateways', `${prefix}-password-file`, file]
}

/** Subscribes and publishes in every way. */
async function useAll(gateway: GatewayProcess): Promise<void> {
  const subscriber = await client(gateway)
  const publisher = await client(gateway)
  for (const [subscribe, name, count] of [
    ['SUBSCRIBE', 'a', 1],
    ['PSUBSCRIBE', 'b*', 2],
    ['SSUBSCRIBE', 's', 1],
  ] as const) {
    subscriber.command(subscribe, name)
    await subscriber.takeUntil(`:${count}\r\n`)
  }
  for (const [publish, name] of [
    ['PUBLISH', 'a'],
    ['PUBLISH', 'b1'],
    ['SPUBLISH', 's'],
  ] as const) {
    publisher.command(publish, name, 'x')
    await publisher.takeUntil('\r\n')
    await subscriber.takeUntil('$1\r\nx\r\n')
  }
  await publisher.assertReply(['MULTI'], '+OK\r\n')
  await publisher.assertReply(['PUBLISH', 'b1', 'y'], '+QUEUED\r\n')
  publisher.command('EXEC')
  await subscriber.takeUntil('$1\r\ny\r\n')
  for (const [about, name, end] of [
    ['NUMSUB', 'a', ':1\r\n'],
    ['SHARDNUMSUB', 's', ':1\r\n'],
    ['CHANNELS', 'a', ''],
    ['SHARDCHANNELS', 's', ''],
  ] as const) {
    publisher.command('PUBSUB', about, name)
    await publisher.takeUntil(`$1\r\n${name}\r\n${end}`)
  }
  subscriber.destroy()
}

const PROGRAMS: readonly Program[] = ['redis-server', 'valkey-server']
/** Granted for what seldom happens: a retry of a commit whose answer was lost, a link that comes back, and a gateway that leaves. */
const SELDOM = new Set(['xrevrange', 'xrange', 'hdel'])
const isMissing = PROGRAMS.some((program) => findProgram(program) === undefined)

describe.skipIf(isMissing && process.env['CI'] !== 'true')(
  'The ACL user that docs/scaling.md gives to gateways',
  () => {
    test.each(PROGRAMS)('of a %s may do what gateways do, and nothing more', async (program) => {
      const node = await Node.start({ program })
      onTestFinished(() => node.stop())
      const rules = [...RULES.split(' '), ...MORE[program]]
      // Names are left at once.
      const directives = [...(await userOn([node], rules)), '--upstream-linger', '0']
      const upstream = `redis://127.0.0.1:${node.port}`
      const gateway = await GatewayProcess.start({ upstream, directives })
      onTestFinished(() => gateway.stop())
      await useAll(gateway)

      const granted = rules.filter((rule) => rule.startsWith('+')).map((rule) => rule.slice(1))
      const own = /^cmdstat_(hello|auth|acl\||ping)/
      await waitUntil('each command that is granted was used', async () => {
        const stats = textOf(await node.ask('INFO', 'commandstats'))
        const used = stats
          .split('\r\n')
          .filter((line) => line.startsWith('cmdstat_') && !own.test(line))
          .map((line) => line.slice('cmdstat_'.length).split(':', 1)[0] ?? '')
        const containers = used.map(containerOf)
        const missing = granted.filter(
          (command) => !used.includes(command) && !containers.includes(command),
        )
        return (
          used.every(
            (command) => granted.includes(command) || granted.includes(containerOf(command)),
          ) && missing.every((command) => SELDOM.has(command))
        )
      })
      expect(refusals(await node.ask('ACL', 'LOG'))).toEqual([])
    })

    test('of a cluster may do what gateways do', async () => {
      const cluster = await startCluster()
      onTestFinished(() => cluster.stop())
      expect(PAGE).toContain('In a Cluster add `+cluster|slots` and `+cluster|info`')
      const rules = [
        ...RULES.split(' '),
        ...MORE['valkey-server'],
        '+cluster|slots',
        '+cluster|info',
      ]
      const directives = await userOn(cluster.nodes, rules)
      const gateway = await GatewayProcess.start({ upstream: cluster.url, directives })
      onTestFinished(() => gateway.stop())
      await useAll(gateway)
      for (const node of cluster.nodes) {
        expect(refusals(await node.ask('ACL', 'LOG'))).toEqual([])
      }
    })

    test('of sentinels may ask for the master, and hear of another', async () => {
      const trio = await startSentinelTrio()
      onTestFinished(() => trio.stop())
      const [, words = '', channel = ''] =
        /needs `(\+info \+subscribe [^`]*)` and the channel\s+`([^`]+)`/.exec(PAGE) ?? []
      const rules = ['resetchannels', channel, '-@all', ...words.split(' '), '+client|setinfo']
      const directives = [
        ...(await userOn(trio.nodes, [...RULES.split(' '), ...MORE['valkey-server']])),
        ...(await userOn(trio.sentinels, rules, '--upstream-sentinel')),
      ]
      const gateway = await GatewayProcess.start({ upstream: trio.url, directives })
      onTestFinished(() => gateway.stop())
      await useAll(gateway)
      for (const node of [...trio.nodes, ...trio.sentinels]) {
        expect(refusals(await node.ask('ACL', 'LOG'))).toEqual([])
      }
      expect(gateway.log).not.toContain('refuses')
    })
  },
)
