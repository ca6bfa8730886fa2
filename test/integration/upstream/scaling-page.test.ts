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
import { Node, type Program } from '../../support/topologies/node.ts'

const PAGE = readFileSync(join(ROOT, 'docs/scaling.md'), 'utf8')
const [, PASSWORD = '', RULES = ''] = /^ACL SETUSER gateways on >(\S+) (.*)$/m.exec(PAGE) ?? []

/** What the page adds for servers that know CLIENT SETINFO. */
const SETINFO: Readonly<Record<Program, readonly string[]>> = {
  'redis-server': [],
  'valkey-server': ['+client|setinfo'],
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

describe.each<Program>(['redis-server', 'valkey-server'])(
  'The ACL user that docs/scaling.md gives to gateways of a %s',
  (program) => {
    test.skipIf(findProgram(program) === undefined && process.env['CI'] !== 'true')(
      'may do what gateways do, and nothing more',
      async () => {
        const node = await Node.start({ program })
        onTestFinished(() => node.stop())
        const rules = [...RULES.split(' '), ...SETINFO[program]]
        await node.ask('ACL', 'SETUSER', 'gateways', 'on', `>${PASSWORD}`, ...rules)
        const file = join(folderWith(), 'password')
        writeFileSync(file, `${PASSWORD}\n`, { mode: 0o600 })
        const gateway = await GatewayProcess.start({
          upstream: `redis://127.0.0.1:${node.port}`,
          directives: [
            ...['--upstream-user', 'gateways', '--upstream-password-file', file],
            // Names are left at once.
            ...['--upstream-linger', '0'],
          ],
        })
        onTestFinished(() => gateway.stop())

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
        await publisher.assertReply(['PUBLISH', 'a', 'x'], ':1\r\n')
        await publisher.assertReply(['SPUBLISH', 's', 'x'], ':1\r\n')
        await publisher.assertReply(['MULTI'], '+OK\r\n')
        await publisher.assertReply(['PUBLISH', 'b1', 'x'], '+QUEUED\r\n')
        await publisher.assertReply(['EXEC'], '*1\r\n:1\r\n')
        subscriber.destroy()

        const granted = rules
          .filter((rule) => rule.startsWith('+'))
          .map((rule) => rule.slice(1))
          .toSorted()
        const own = /^cmdstat_(hello|auth|acl\||ping)/
        await waitUntil('each command that is granted was used', async () => {
          const stats = textOf(await node.ask('INFO', 'commandstats'))
          const used = stats
            .split('\r\n')
            .filter((line) => line.startsWith('cmdstat_') && !own.test(line))
            .map((line) => line.slice('cmdstat_'.length).split(':', 1)[0] ?? '')
          return used.toSorted().join(' ') === granted.join(' ')
        })
        expect(refusals(await node.ask('ACL', 'LOG'))).toEqual([])
      },
    )
  },
)
