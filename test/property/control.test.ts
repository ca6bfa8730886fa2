import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Fleet, type FleetGateway } from '../support/control-fleet.ts'

type Step =
  | {
      readonly what: 'revoke' | 'edit' | 'cut' | 'connect' | 'kill' | 'hold' | 'release'
      readonly at: number
    }
  | { readonly what: 'flush' | 'trim' | 'copy' | 'failOver' | 'stop' | 'resume' }
  | { readonly what: 'pass'; readonly ms: number }

const at = fc.nat(2)
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ what: fc.constantFrom('revoke', 'edit'), at }) },
    {
      weight: 4,
      arbitrary: fc.record({ what: fc.constantFrom('cut', 'connect', 'hold', 'release'), at }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('kill'), at }) },
    {
      weight: 3,
      arbitrary: fc.record({
        what: fc.constantFrom('flush', 'trim', 'copy', 'failOver', 'stop', 'resume'),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ what: fc.constant('pass'), ms: fc.integer({ min: 1, max: 12_000 }) }),
    },
  ),
  { maxLength: 25 },
) as fc.Arbitrary<Step[]>

/** Plays a history of three gateways, and holds what the control plane promises against it. */
class History {
  readonly fleet = new Fleet()
  readonly gateways: FleetGateway[] = []
  /** Revocations that are in force for good, and when the log had them; monotonic milliseconds. */
  readonly durable = new Map<string, number | undefined>()
  #copy: (() => void) | undefined
  #names = 0
  #due: Promise<void>[] = []

  async begin(): Promise<void> {
    this.gateways.push(...(await this.fleet.of(3)))
  }

  async play(step: Step): Promise<void> {
    const { fleet } = this
    const { server } = fleet
    if ('at' in step) {
      const gateway = this.gateways[step.at] as FleetGateway
      switch (step.what) {
        case 'revoke':
          this.#revoke(gateway)
          break
        case 'edit':
          this.#due.push(this.#edit(gateway))
          break
        case 'cut':
          gateway.model.cut()
          break
        case 'connect':
          gateway.model.connect()
          break
        case 'hold':
          gateway.model.line.hold()
          break
        case 'release':
          gateway.model.line.release()
          break
        case 'kill':
          this.gateways[step.at] = await fleet.add({ disk: fleet.kill(gateway) })
          break
      }
    } else if (step.what === 'pass') await this.#pass(step.ms)
    else if (step.what === 'flush') server.flush()
    else if (step.what === 'trim') server.trim(1)
    else if (step.what === 'copy') this.#copy = server.copy()
    else if (step.what === 'failOver' && this.#copy) server.failOver(this.#copy)
    else if (step.what === 'stop') server.stop()
    else if (step.what === 'resume') server.resume()
    await fleet.settled()
    this.#look()
  }

  /** Everything works again. */
  async heal(): Promise<void> {
    this.fleet.server.resume()
    for (const { model } of this.gateways) {
      model.line.release()
      model.connect()
    }
    await this.#pass(6_000)
    await Promise.all(this.#due)
    this.#look()
  }

  async #pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await this.fleet.pass(Math.min(500, ms - passed), 250)
      this.#look()
    }
  }

  #revoke(gateway: FleetGateway): void {
    const name = String(++this.#names)
    gateway.revocations.values.set(name, name)
    const { control } = gateway
    const answered = control
      .commit({
        changes: [{ key: `r:${name}`, value: name }],
        actor: { user: '', address: '' },
        enforced: Promise.resolve(0),
        wait: { count: 'all', ms: 1_000 },
      })
      .then((outcome) => {
        if (outcome.state === 'committed') {
          const { missing } = outcome
          const endsMs = Math.max(0, ...missing.map(({ fencedInMs }) => fencedInMs))
          // From now on nobody serves without it, but for those who are missing, until they are fenced.
          this.durable.set(name, this.fleet.clock.monotonicMs() + endsMs)
        } else if (outcome.state === 'unreachable' && outcome.isDurable) {
          this.durable.set(name, undefined)
        }
      })
    this.#due.push(answered)
  }

  async #edit(gateway: FleetGateway): Promise<void> {
    const value = String(++this.#names)
    await gateway.control.commit({
      changes: [{ key: `u:${value.length % 2 === 0 ? 'a' : 'b'}`, value }],
      actor: { user: '', address: '' },
      wait: { count: 'all', ms: 1_000 },
    })
  }

  /** No gateway serves without a revocation whose answer said that it is in force everywhere. */
  #look(): void {
    const nowMs = this.fleet.clock.monotonicMs()
    for (const [index, { control, revocations }] of this.gateways.entries()) {
      if (control.refusal !== undefined) continue
      for (const [name, sinceMs] of this.durable) {
        if (sinceMs === undefined || nowMs <= sinceMs || revocations.values.has(name)) continue
        throw new Error(`gateway ${index} serves without revocation ${name}`)
      }
    }
  }
}

test('whatever happens to gateways and upstream, no acknowledged revocation is lost, nobody serves without it, and all agree in the end', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const play = new History()
      await play.begin()
      for (const step of history) await play.play(step)
      await play.heal()
      const [one, ...others] = play.gateways
      for (const name of play.durable.keys()) {
        expect(one!.revocations.values.has(name), `revocation ${name}`).toBe(true)
      }
      for (const { revocations, users, control } of others) {
        expect(control.refusal).toBeUndefined()
        expect(revocations.values).toEqual(one!.revocations.values)
        expect(users.values).toEqual(one!.users.values)
      }
    }),
    { numRuns: 60, endOnFailure: false },
  )
}, 120_000)
