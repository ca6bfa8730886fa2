import { expect, test } from 'vitest'
import { Fleet, type FakePart } from '../../support/control-fleet.ts'

test('a change at one gateway is in force at the others, and is answered when they have confirmed it', async () => {
  const fleet = new Fleet()
  const [one, two, three] = await fleet.of(3)
  two!.users.sessions = 2
  three!.users.sessions = 1
  const outcome = await fleet.commit(one!, [{ key: 'u:role:x', value: 'on +subscribe' }])
  expect(outcome).toEqual({
    state: 'committed',
    sessions: 3,
    confirmed: ['gateway-2', 'gateway-3'],
    missing: [],
    fenced: [],
    isDurable: true,
    isHere: true,
  })
  for (const { users } of fleet.gateways) expect(users.values.get('role:x')).toBe('on +subscribe')
})

test('an edit is not in force before it is in the log', async () => {
  const fleet = new Fleet()
  const [one] = await fleet.of(2)
  fleet.server.stop()
  void one!.control.commit({
    changes: [{ key: 'u:a', value: 'on' }],
    actor: { user: '', address: '' },
    wait: { count: 'all', ms: 1_000 },
  })
  await fleet.settled()
  expect(one!.users.values.has('a')).toBe(false)
  fleet.server.resume()
  await fleet.settled()
  expect(one!.users.values.get('a')).toBe('on')
})

test('of two edits of one user that meet, one is told that another came first, and finds that one in force', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  const request = (value: string) => ({
    changes: [{ key: 'u:a', value }],
    actor: { user: '', address: '' },
    wait: { count: 'all' as const, ms: 1_000 },
  })
  const first = one!.control.commit(request('first'))
  const second = two!.control.commit(request('second'))
  expect((await fleet.outcome(first)).state).toBe('committed')
  expect((await fleet.outcome(second)).state).toBe('conflict')
  expect(two!.users.values.get('a')).toBe('first')
})

test('names who has not confirmed, and when it is fenced at the latest', async () => {
  const fleet = new Fleet()
  const [one, , three] = await fleet.of(3)
  three!.model.line.hold()
  const outcome = await fleet.revoke(one!, '1')
  expect(outcome).toMatchObject({ state: 'committed', confirmed: ['gateway-2'] })
  if (outcome.state !== 'committed') return
  const [missing] = outcome.missing
  expect(missing?.name).toBe('gateway-3')
  expect(missing?.fencedInMs).toBeGreaterThan(7_000)
  expect(missing?.fencedInMs).toBeLessThanOrEqual(10_000)
})

test('waits for no more gateways than it was asked to', async () => {
  const fleet = new Fleet()
  const [one, , three] = await fleet.of(3)
  three!.model.line.hold()
  const beforeMs = fleet.clock.monotonicMs()
  await fleet.revoke(one!, '1', { wait: { count: 1, ms: 1_000 } })
  expect(fleet.clock.monotonicMs()).toBe(beforeMs)
})

test('a gateway that hears nothing of the log is fenced a second before its lease ends, and serves again once it has caught up', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  two!.model.line.hold()
  await fleet.revoke(one!, '1', { wait: { count: 'all', ms: 0 } })
  await fleet.pass(7_000)
  // It has found out that an entry is missing, and has read the log.
  expect(two!.revocations.values.has('1')).toBe(true)
  expect(two!.control.refusal).toBeUndefined()
  two!.model.cut()
  await fleet.pass(8_000)
  expect(two!.control.refusal).toBeUndefined()
  await fleet.pass(1_200)
  expect(two!.control.refusal).toMatch(/^TRYAGAIN /)
  expect(two!.fences).toEqual([false, true])
  await fleet.revoke(one!, '2')
  two!.model.line.release()
  two!.model.connect()
  await fleet.settled()
  expect(two!.revocations.values.has('2')).toBe(true)
  expect(two!.control.refusal).toBeUndefined()
  expect(two!.fences).toEqual([false, true, false])
})

test('a gateway whose channels are confirmed before it can send commands catches up as soon as it can', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  two!.model.cut()
  await fleet.revoke(one!, '1')
  await two!.model.connectForCommandsLast()
  await fleet.settled()
  expect(two!.revocations.values.has('1')).toBe(true)
  expect(two!.model.line.isPaused).toBe(false)
})

test('a lease that has lapsed counts as enforced', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  two!.model.cut()
  await fleet.pass(9_500)
  const outcome = await fleet.revoke(one!, '1', { wait: { count: 'all', ms: 3_000 } })
  expect(outcome).toMatchObject({ state: 'committed', missing: [], fenced: ['gateway-2'] })
})

test('with upstream-control-loss open a gateway goes on with what it knows', async () => {
  const fleet = new Fleet()
  const one = await fleet.add({ directives: { 'upstream-control-loss': 'open' } })
  await fleet.pass(1_000)
  one.model.cut()
  await fleet.pass(60_000)
  expect(one.control.refusal).toBeUndefined()
})

test('a revocation that is ordered while the upstream is away is in force here, on disk, and committed later', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  one!.model.cut()
  expect(await fleet.revoke(one!, '1')).toEqual({
    state: 'unreachable',
    isDurable: true,
    isSent: false,
  })
  expect(two!.revocations.values.has('1')).toBe(false)
  one!.model.connect()
  await fleet.pass(1_100)
  expect(two!.revocations.values.has('1')).toBe(true)
})

test('a revocation that was ordered while the upstream was away survives the gateway', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  one!.model.cut()
  await fleet.revoke(one!, '1')
  const disk = fleet.kill(one!)
  await fleet.add({ disk })
  await fleet.pass(1_100)
  expect(two!.revocations.values.get('1')).toBe('revoked 1')
})

test('what a failover has lost is committed anew by whoever knows it', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  await fleet.commit(one!, [{ key: 'u:a', value: 'before' }])
  const older = fleet.server.copy()
  await fleet.revoke(one!, '1')
  await fleet.commit(two!, [{ key: 'u:a', value: 'after' }])
  fleet.server.failOver(older)
  await fleet.pass(2_000)
  expect(fleet.server.registers.get('r:1')?.value).toBe('revoked 1')
  expect(fleet.server.registers.get('u:a')?.value).toBe('after')
  const late = await fleet.add()
  expect(late.revocations.values.get('1')).toBe('revoked 1')
})

test('an upstream that was flushed gets everything back', async () => {
  const fleet = new Fleet()
  const [one] = await fleet.of(2)
  await fleet.revoke(one!, '1')
  await fleet.commit(one!, [{ key: 'u:a', value: 'on' }])
  fleet.server.flush()
  await fleet.pass(3_000)
  expect([...fleet.server.registers.keys()].toSorted()).toEqual(['r:1', 's:r', 's:u', 'u:a'])
  expect(one!.control.refusal).toBeUndefined()
})

test('a deletion is not undone by a gateway that has been away', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  await fleet.revoke(one!, '1')
  two!.model.cut()
  one!.revocations.values.delete('1')
  await fleet.commit(one!, [{ key: 'r:1', value: undefined }], { enforced: Promise.resolve(0) })
  fleet.server.trim(0)
  two!.model.connect(true)
  await fleet.pass(2_000)
  expect(two!.revocations.values.has('1')).toBe(false)
  expect(fleet.server.registers.get('r:1')?.value).toBeUndefined()
})

test('a gateway that was away longer than the log reaches takes over all registers', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  two!.model.cut()
  for (const name of ['1', '2', '3']) await fleet.revoke(one!, name, { wait: { count: 0, ms: 0 } })
  fleet.server.trim(1)
  two!.model.connect()
  await fleet.settled()
  expect([...two!.revocations.values.keys()].toSorted()).toEqual(['1', '2', '3'])
})

test('of a whole state what takes something is in force first, and all that may give something together', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  await fleet.revoke(one!, 'lifted')
  two!.model.cut()
  for (const name of ['a', 'b', 'c', 'd']) {
    await fleet.commit(one!, [{ key: `u:${name}`, value: 'on' }])
    await fleet.revoke(one!, name)
  }
  one!.revocations.values.delete('lifted')
  await fleet.commit(one!, [{ key: 'r:lifted', value: undefined }], {
    enforced: Promise.resolve(0),
  })
  fleet.server.trim(0)
  const [users, revocations] = [two!.users.applied.length, two!.revocations.applied.length]
  two!.model.connect()
  await fleet.settled()
  const keysOf = (applied: FakePart['applied']): string[][] =>
    applied.map(({ registers }) => registers.map(({ key }) => key))
  expect(keysOf(two!.users.applied.slice(users))).toEqual([['u:a', 'u:b', 'u:c', 'u:d']])
  const pages = keysOf(two!.revocations.applied.slice(revocations))
  expect(pages.length).toBeGreaterThan(2)
  expect(pages.flat()).toEqual(['r:a', 'r:b', 'r:c', 'r:d', 'r:lifted'])
  expect(pages.at(-1)).toEqual(['r:lifted'])
})

test('the first gateway of a namespace brings its users, and later ones take those', async () => {
  const fleet = new Fleet()
  const one = await fleet.add({ users: { a: 'of one', b: 'of one' } })
  const two = await fleet.add({ users: { b: 'of two', c: 'of two' } })
  await fleet.pass(1_000)
  expect(Object.fromEntries(one.users.values)).toEqual({ a: 'of one', b: 'of one' })
  expect(Object.fromEntries(two.users.values)).toEqual({ a: 'of one', b: 'of one' })
})

test('of two first gateways at once one alone brings its users', async () => {
  const fleet = new Fleet()
  const one = await fleet.add({ users: { a: 'of one' }, isConnected: false })
  const two = await fleet.add({ users: { b: 'of two' }, isConnected: false })
  one.model.connect()
  two.model.connect()
  await fleet.pass(3_000)
  expect(Object.fromEntries(one.users.values)).toEqual(Object.fromEntries(two.users.values))
  expect(one.users.values.size).toBe(1)
})

test('revocations that a gateway has when it joins are shared', async () => {
  const fleet = new Fleet()
  const [one] = await fleet.of(1)
  await fleet.revoke(one!, '1')
  const two = await fleet.add({ isConnected: false })
  two.revocations.values.set('7', 'of before')
  two.model.connect()
  await fleet.settled()
  expect(one!.revocations.values.get('7')).toBe('of before')
})

test('nothing that the upstream sends is taken while sessions lose what an entry takes from them', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  two!.users.isSlow = true
  void one!.control.commit({
    changes: [{ key: 'u:a', value: 'off' }],
    actor: { user: '', address: '' },
    wait: { count: 'all', ms: 1_000 },
  })
  await fleet.settled()
  expect(two!.users.values.get('a')).toBe('off')
  expect(two!.model.line.isPaused).toBe(true)
  two!.users.finish()
  await fleet.settled()
  expect(two!.model.line.isPaused).toBe(false)
})

test('nothing that the upstream sends is taken while the gateway that ordered it cuts its own sessions', async () => {
  const fleet = new Fleet()
  const [one] = await fleet.of(2)
  let finish: (sessions: number) => void = () => {}
  const enforced = new Promise<number>((resolve) => (finish = resolve))
  const outcome = one!.control.commit({
    changes: [{ key: 'r:1', value: 'revoked' }],
    actor: { user: '', address: '' },
    enforced,
    wait: { count: 'all', ms: 1_000 },
  })
  await fleet.settled()
  expect(one!.model.line.isPaused).toBe(true)
  finish(3)
  expect(await fleet.outcome(outcome)).toMatchObject({ state: 'committed', sessions: 3 })
  expect(one!.model.line.isPaused).toBe(false)
})

test('an entry that cannot be applied as a whole is not applied, and the gateway says what to do and is fenced', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  two!.users.unknown = 'new'
  await fleet.commit(one!, [
    { key: 'u:a', value: 'on' },
    { key: 'u:b', value: 'new thing' },
  ])
  expect(two!.users.values.size).toBe(0)
  expect(two!.control.problems[0]).toMatch(/^upstream-namespace: .*: upgrade this gateway$/)
  await fleet.pass(10_000)
  expect(two!.control.refusal).toMatch(/^TRYAGAIN /)
})

test('a refusal of the upstream is a problem, and ends when it is granted', async () => {
  const fleet = new Fleet()
  const one = await fleet.add({ isConnected: false })
  one.model.store.refusal = 'upstream-user: 127.0.0.1:6379 refuses EVALSHA: give this user +evalsha'
  one.model.connect()
  await fleet.pass(2_000)
  expect(one.control.problems).toEqual([one.model.store.refusal])
  one.model.store.refusal = undefined
  await fleet.pass(2_000)
  expect(one.control.problems).toEqual([])
  expect(one.control.refusal).toBeUndefined()
})

test('a wall clock that jumps moves no lease', async () => {
  const fleet = new Fleet()
  const [one] = await fleet.of(1)
  fleet.clock.stepWall(3_600_000)
  await fleet.pass(2_000)
  expect(one!.control.refusal).toBeUndefined()
  one!.model.cut()
  fleet.clock.stepWall(-7_200_000)
  await fleet.pass(9_500)
  expect(one!.control.refusal).toMatch(/^TRYAGAIN /)
})

test('numbers are unique, and a gateway that comes back does not take one of another', async () => {
  const fleet = new Fleet()
  const gateways = await fleet.of(3)
  expect(gateways.map(({ control }) => control.number).toSorted((a, b) => a - b)).toEqual([1, 2, 3])
})

test('a lost answer to a commit is not a lost revocation', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  one!.model.store.losesAnswers = 1
  expect((await fleet.revoke(one!, '1')).state).toBe('unreachable')
  await fleet.pass(1_200)
  expect(two!.revocations.values.get('1')).toBe('revoked 1')
  const keys = fleet.server.log.flatMap(({ entry }) => entry.registers.map(({ key }) => key))
  expect(keys.filter((key) => key === 'r:1')).toHaveLength(1)
})

test('gateways with other settings are named once', async () => {
  const fleet = new Fleet()
  const one = await fleet.add()
  await fleet.add({ issuers: '1'.repeat(16) })
  await fleet.pass(5_000)
  const warnings = one.lines.filter(({ msg }) => msg.includes('other settings'))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatchObject({ node: 'gateway-2', what: 'issuers' })
})

test('a shorter lease fences earlier', async () => {
  const fleet = new Fleet()
  const one = await fleet.add({ directives: { 'upstream-lease': '3' } })
  await fleet.pass(1_000)
  one.model.cut()
  await fleet.pass(2_300)
  expect(one.control.refusal).toMatch(/^TRYAGAIN /)
})

test('a register whose owner has forgotten it goes everywhere, and comes back nowhere', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  await fleet.revoke(one!, '1')
  for (const { revocations } of [one!, two!]) revocations.values.delete('1')
  await fleet.pass(5_000)
  expect(fleet.server.registers.has('r:1')).toBe(false)
  one!.model.cut()
  one!.model.connect(true)
  await fleet.pass(3_000)
  expect(fleet.server.registers.has('r:1')).toBe(false)
  expect(one!.revocations.values.has('1')).toBe(false)
})

test('a user that one gateway does not share stays with the others', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  await fleet.commit(two!, [{ key: 'u:ops', value: 'on' }])
  one!.users.values.delete('ops')
  await fleet.pass(5_000)
  expect(fleet.server.registers.get('u:ops')?.value).toBe('on')
})

test('says that an edit may be in the log where it was sent and the answer was lost', async () => {
  const fleet = new Fleet()
  const [one] = await fleet.of(1)
  fleet.server.stop()
  const outcome = one!.control.commit({
    changes: [{ key: 'u:a', value: 'on' }],
    actor: { user: '', address: '' },
    wait: { count: 'all', ms: 1_000 },
  })
  one!.model.cut()
  expect(await fleet.outcome(outcome)).toMatchObject({ state: 'unreachable', isSent: true })
})

test('says that an edit is in the log and not in force here while this gateway is behind', async () => {
  const fleet = new Fleet()
  const [one, two] = await fleet.of(2)
  one!.model.line.hold()
  const outcome = await fleet.commit(one!, [{ key: 'u:a', value: 'on' }])
  expect(outcome).toMatchObject({ state: 'committed', isHere: false })
  expect(one!.users.values.has('a')).toBe(false)
  expect(two!.users.values.get('a')).toBe('on')
})
