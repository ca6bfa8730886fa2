import fc from 'fast-check'
import { expect, test } from 'vitest'
import { authorize, type Denial } from '../../server/acl/authorize.ts'
import { ArgumentList } from '../../server/resp/request.ts'
import { TestCore, type TestClient } from '../support/test-core.ts'
import { tokenFor } from '../support/tokens.ts'
import { parseReply, type ReplyValue } from '../support/transcript-values.ts'

/** Names of channels and patterns that meet, some of them only as globs. */
const name = fc.constantFrom('a', 'ab', 'a*', 'a?', '*', 'b', 'b*')
const names = fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined })

const claims = fc.record({
  roles: fc.option(fc.subarray(['r', 'missing']), { nil: undefined }),
  channels: names,
  subscribe: names,
  publish: names,
  deny: names,
})

const rule = fc.constantFrom(
  '+subscribe',
  '+publish',
  '+psubscribe',
  '+@pubsub',
  '-publish',
  '+config|get',
  '&a',
  '&a*',
  '&b',
  '(+subscribe &b)',
  '(+publish &a &b)',
  '(+@pubsub &a?)',
)
const rules = fc.array(rule, { maxLength: 6 }).map((list) => list.join(' '))
/** Every ceiling lets WHY pass, which has to be asked. */
const ceiling = fc.option(
  rules.map((text) => `resetchannels -@all +@connection ${text}`),
  { nil: undefined },
)

const revoked = fc.option(fc.tuple(name, fc.constantFrom('', ' ONLY SUBSCRIBE', ' ONLY PUBLISH')), {
  nil: undefined,
})

const oneChannel = fc
  .tuple(fc.constantFrom('SUBSCRIBE', 'PSUBSCRIBE', 'SSUBSCRIBE'), name)
  .map((words) => [...words])
const publish = fc
  .tuple(fc.constantFrom('PUBLISH', 'SPUBLISH'), name)
  .map((words) => [...words, 'payload'])
const several = fc
  .tuple(
    fc.constantFrom('SUBSCRIBE', 'PSUBSCRIBE', 'SSUBSCRIBE'),
    fc.array(name, { minLength: 2, maxLength: 3 }),
  )
  .map(([word, list]) => [word, ...list])
const withoutChannel = fc.constantFrom(['CONFIG', 'GET', 'port'], ['PING'], ['UNSUBSCRIBE', 'b'])
const commands = fc.array(fc.oneof(oneChannel, publish, several, withoutChannel), {
  minLength: 1,
  maxLength: 8,
})

/** The decision about a command of a client, and what the server answers and logs. */
function run(core: TestCore, admin: TestClient, subject: TestClient, words: readonly string[]) {
  const request = ArgumentList.of(...words)
  const entry = core.table.find(request)?.acl
  if (entry === undefined) throw new Error(words.join(' '))
  const { identity, overlay } = subject.client
  const denial = authorize(identity, overlay, entry, request)
  admin.send('ACL', 'LOG', 'RESET')
  const answer = subject.send(...words)
  const [logged] = parseReply(admin.send('ACL', 'LOG')) as ReplyValue[]
  expect(answer.startsWith('-NOPERM '), `${words.join(' ')}: ${answer}`).toBe(denial !== undefined)
  if (denial === undefined) {
    expect(logged).toBeUndefined()
    return undefined
  }
  const { name: username } = identity.user
  expect(fieldsOf(logged)).toMatchObject({
    reason: denial.reason,
    object: denial.object,
    username,
  })
  expect(answer).toBe(
    denial.reason === 'channel'
      ? '-NOPERM No permissions to access a channel\r\n'
      : `-NOPERM User ${username} has no permissions to run the '${denial.object}' command\r\n`,
  )
  return denial
}

function fieldsOf(flat: ReplyValue | undefined): Record<string, ReplyValue> {
  const values = flat as readonly ReplyValue[]
  const fields: Record<string, ReplyValue> = {}
  for (let i = 0; i < values.length; i += 2) fields[values[i] as string] = values[i + 1] ?? null
  return fields
}

/** The answer of TOKEN EXPLAIN about the same decision. */
function expectSameReason(
  denial: Denial | undefined,
  explained: Readonly<Record<string, ReplyValue>>,
): void {
  expect(explained['allowed']).toBe(denial === undefined ? 1 : 0)
  if (denial === undefined) return
  const { ceiling: bound, revocation, rule: refusing } = explained
  switch (denial.by) {
    case 'deny':
      expect(bound).toBeNull()
      if (revocation === null) expect(refusing).toMatch(/^deny /)
      else expect(refusing).toBeNull()
      return
    case 'ceiling':
      expect([bound, revocation, refusing]).toEqual([denial.ceiling.name, null, null])
      return
    case 'user':
      expect([bound, revocation, refusing]).toEqual([null, null, null])
  }
}

test('the reply, ACL LOG, TOKEN WHY and TOKEN EXPLAIN name one reason for a token session', async () => {
  const seen = new Set<string | undefined>()
  await fc.assert(
    fc.asyncProperty(
      fc.record({ claims, role: rules, own: ceiling, revoked, commands }),
      async (given) => {
        const core = new TestCore()
        const admin = core.connect()
        core.setUser('role:r', `off resetchannels ${given.role}`)
        if (given.own !== undefined) core.setUser('jwt:42', given.own)
        const subject = core.connect({ protocol: 3 })
        const login = await subject.sendAndWait('AUTH', 'jwt', tokenFor(given.claims))
        expect(login).toBe('+OK\r\n')
        if (given.revoked) {
          const [target, only] = given.revoked
          const words = `REVOKE CHANNEL ${target}${only} PERSIST`.split(' ')
          expect(await admin.sendAndWait('TOKEN', ...words)).toBe(':0\r\n')
          subject.read()
        }
        const id = String(subject.client.id)
        for (const words of given.commands) {
          const explained = fieldsOf(
            parseReply(admin.send('TOKEN', 'EXPLAIN', 'CLIENT', id, ...words)),
          )
          const [command = '', channel = ''] = words
          const why = parseReply(
            subject.send('TOKEN', 'WHY', command === 'CONFIG' ? 'CONFIG|GET' : command, channel),
          )
          const denial = run(core, admin, subject, words)
          expectSameReason(denial, explained)
          seen.add(denial?.by)
          if (words.length > 2 && words.at(-1) !== 'payload' && command !== 'CONFIG') continue
          const reason = denial?.reason === 'channel' ? 'channel' : 'command'
          expect(why).toBe(denial === undefined ? 'ok' : denial.by === 'user' ? reason : denial.by)
        }
      },
    ),
    { numRuns: 80 },
  )
  expect(seen).toEqual(new Set(['ceiling', 'deny', 'user', undefined]))
}, 60_000)

test('the reply, ACL LOG and ACL DRYRUN name one reason for a password user', () => {
  fc.assert(
    fc.property(rules, commands, (text, lines) => {
      const core = new TestCore()
      const admin = core.connect()
      core.setUser('u', `on nopass resetchannels ${text}`)
      const subject = core.connect({ protocol: 3 })
      expect(subject.send('AUTH', 'u', 'x')).toBe('+OK\r\n')
      for (const words of lines) {
        const tried = admin.send('ACL', 'DRYRUN', 'u', ...words)
        const denial = run(core, admin, subject, words)
        if (denial === undefined) {
          expect(tried).toBe('+OK\r\n')
          continue
        }
        const { reason, object } = denial
        const action =
          reason === 'command' ? `run the '${object}' command` : `access the '${object}' ${reason}`
        expect(parseReply(tried)).toBe(`User u has no permissions to ${action}`)
      }
    }),
    { numRuns: 80 },
  )
}, 60_000)
