import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Control } from '../../server/control/control.ts'
import type { KnownNode, NodeRecord } from '../../server/control/node.ts'
import type { Backplane } from '../../server/upstream/backplane.ts'
import { FakeControl, nodeRecord } from '../support/fake-control.ts'
import { SOME_FIGURES, SOME_LINKS, withUpstream } from '../support/upstream-state.ts'
import { Bed } from './bed.ts'
import { describeInChromium } from './chromium.ts'
import { ADMIN, MEMBER, openConsole } from './console-page.ts'
import type { ConsolePage } from './console-page.ts'

/** A look at a view: its address, and what is done there first. */
interface Look {
  readonly view: string
  readonly prepare?: (console: ConsolePage) => Promise<void>
}

const LOOKS: Readonly<Record<string, Look>> = {
  overview: { view: 'overview', prepare: (console) => console.waitFor('tiles', /Published\d/) },
  // Not next to health, which asks /readyz: the browser complains of a 503.
  'the overview while the upstream is not ready': {
    view: 'overview',
    prepare: (console) => console.waitFor('upstream-warning', 'no link to 10.0.0.7:6379'),
  },
  channels: { view: 'channels', prepare: (console) => console.row('news:sport').waitFor() },
  connections: {
    view: 'connections',
    prepare: async (console) => {
      await console.page.locator('[role=row]').filter({ hasText: 'jwt:ada' }).waitFor()
      await console.page.getByLabel('Choose 2', { exact: true }).check()
    },
  },
  'the details of a connection': {
    view: 'connections?id=2',
    prepare: (console) => console.waitFor('client-fields', 'jwt-sub'),
  },
  publish: {
    view: 'publish',
    prepare: async (console) => {
      await console.page
        .getByLabel('Name', { exact: true })
        .fill('a-name-without-a-break'.repeat(9))
      await console.page.getByRole('main').getByRole('button', { name: 'Publish' }).click()
      await console.waitFor('published', '0 receivers')
    },
  },
  tail: {
    view: 'tail',
    prepare: async (console) => {
      await console.page.getByRole('button', { name: /^Listen/ }).click()
      await console.waitFor('message', 'hello')
    },
  },
  'users and roles': { view: 'users', prepare: (console) => console.row('role:member').waitFor() },
  'the editor of a role': {
    view: 'users?name=role:member',
    prepare: (console) => console.waitFor('rule-check', 'The server takes these rules.'),
  },
  'a question before a change': {
    view: 'users?name=role:member',
    prepare: async (console) => {
      await console.page.getByTestId('rules').fill('off +nosuch')
      await console.waitFor('problem', 'nosuch')
      await console.button('Delete').click()
      await console.waitFor('affected', '1 live connection')
    },
  },
  'the token inspector': {
    view: 'tokens?client=2',
    prepare: async (console) => {
      await console.waitFor('explanation', '&news:*')
      await console.page.getByLabel('Channel or pattern').fill('news:sport')
      await console.button('Ask').click()
      await console.waitFor('verdicts', 'refused')
    },
  },
  revocation: {
    view: 'revocations',
    prepare: async (console) => {
      await console.page.getByLabel('Revoke', { exact: true }).selectOption('CHANNEL')
      await console.page.getByLabel('Channel pattern').fill('news:*')
      await console.button('Preview').click()
      await console.waitFor('preview', '1 live connection')
      await console.row('1').waitFor()
    },
  },
  audit: { view: 'audit', prepare: (console) => console.waitFor('view-audit', 'nobody') },
  configuration: {
    view: 'configuration',
    prepare: (console) => console.row('acl-pubsub-default').waitFor(),
  },
  'a directive': {
    view: 'configuration?name=timeout',
    prepare: (console) => console.waitFor('commands', 'CONFIG SET timeout'),
  },
  health: {
    view: 'health',
    prepare: async (console) => {
      await console.waitFor('readiness', 'Ready')
      await console.page.getByText('total_error_replies').waitFor()
    },
  },
  'health with an upstream': {
    view: 'health',
    prepare: (console) => console.waitFor('upstream', '11,488 of 12,000'),
  },
  'the gateway that is alone': {
    view: 'gateways',
    prepare: async (console) => {
      await console.row('alone').waitFor()
      await console.waitFor('gateway-totals', 'shares its users and revocations with no other')
    },
  },
  'gateways of which some need a look': {
    view: 'gateways',
    prepare: async (console) => {
      await console.waitFor('gateway-warning', 'berlin-3.gateways.example.com:6379 is fenced')
      await console.waitFor('gateway-totals', '5 gateways')
    },
  },
  'the details of a gateway': {
    view: 'gateways?id=2222222222222222',
    prepare: (console) => console.waitFor('facts', '10.0.0.2:8081'),
  },
  'the overview while a gateway is fenced': {
    view: 'overview',
    prepare: (console) => console.waitFor('gateway-warning', 'is fenced'),
  },
  'the command log': {
    view: 'health',
    prepare: async (console) => {
      await console.page.keyboard.press('l')
      await console.page.getByTestId('log').locator('summary').first().click()
    },
  },
  'the list of shortcuts': {
    view: 'health',
    prepare: async (console) => {
      await console.page.keyboard.press('?')
      await console.waitFor('shortcuts', 'Overview')
    },
  },
}

/** Several gateways: one serves, one drains, one is fenced, one has other settings. */
function fleet(nowMs: number): FakeControl {
  const control = new FakeControl()
  const startedAtMs = Date.now() - 90_000_000
  const other = (number: number, more: Partial<NodeRecord>, leaseMs: number): KnownNode => {
    const host = `berlin-${number}.gateways.example.com`
    return {
      ...nodeRecord({ number, startedAtMs, clients: 123_456, sessions: 120_000, version: '0.1.0' }),
      id: String(number).repeat(16),
      name: `${host}:6379`,
      addresses: { resp: `${host}:6379`, http: `${host}:8080`, admin: `10.0.0.${number}:8081` },
      leaseEndsMs: nowMs + leaseMs,
      ...more,
    }
  }
  control.nodes = [
    other(2, {}, 3_600_000),
    other(3, { applied: '6-1' }, 0),
    other(4, { isDraining: true }, 3_600_000),
    other(5, { digests: { issuers: 'others', acl: 'a' } }, 3_600_000),
  ]
  return control
}

describeInChromium('views of the console in Chromium', (browser) => {
  let bed: Bed
  let ticking: ReturnType<typeof setInterval>
  let alone: Backplane
  /** Looks at servers that are not alone. */
  let backplanes: Readonly<Record<string, Backplane>>
  let controls: Readonly<Record<string, Control>>
  let ownControl: Control

  beforeAll(async () => {
    bed = await Bed.start({ user: [[...ADMIN], [...MEMBER]] })
    alone = bed.server.core.backplane
    const shown = { links: SOME_LINKS, figures: SOME_FIGURES }
    const problems = ['no link to 10.0.0.7:6379 (ECONNREFUSED)']
    backplanes = {
      'health with an upstream': withUpstream(shown)(bed.server.core.registry),
      'the overview while the upstream is not ready': withUpstream({ ...shown, problems })(
        bed.server.core.registry,
      ),
      'the overview while a gateway is fenced': withUpstream(shown)(bed.server.core.registry),
    }
    ownControl = bed.server.core.control
    const shared = fleet(bed.server.core.clock.monotonicMs())
    controls = {
      'gateways of which some need a look': shared,
      'the details of a gateway': shared,
      'the overview while a gateway is fenced': shared,
    }
    await bed.subscribe('ada', 'news:sport', 'user:ada:inbox')
    await bed.command('TOKEN', 'REVOKE', 'SUB', 'nobody', 'REASON', 'a reason')
    ticking = setInterval(() => bed.terminal.command('PUBLISH', 'news:sport', 'hello'), 100)
  })

  afterAll(async () => {
    clearInterval(ticking)
    await bed?.stop()
  })

  const surroundings = [
    { name: 'in light', options: { colorScheme: 'light' } },
    { name: 'in dark', options: { colorScheme: 'dark' } },
    {
      name: 'on a phone',
      options: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
    },
  ] as const

  describe.each(surroundings)('$name', ({ name, options }) => {
    let console: ConsolePage

    beforeAll(async () => {
      console = await openConsole(browser(), bed.server, options)
    })

    afterAll(async () => {
      await console?.page.close()
    })

    test('the login is accessible, and needs no sideways scrolling', async () => {
      await console.open()
      await console.page.getByLabel('Password').waitFor()
      await expectGoodLook()
      await console.logIn()
      await console.waitFor('status', 'Online')
    })

    test.each(Object.keys(LOOKS))('%s: accessible, without sideways scrolling', async (look) => {
      const { view, prepare } = LOOKS[look] as Look
      const { core } = bed.server
      Object.assign(core, { backplane: backplanes[look] ?? alone })
      Object.assign(core, { control: controls[look] ?? ownControl })
      await console.goTo(view)
      await prepare?.(console)
      await expectGoodLook()
      expect(console.complaints).toEqual([])
    })

    async function expectGoodLook(): Promise<void> {
      expect(await console.seriousFindings()).toEqual([])
      const width = name === 'on a phone' ? 390 : 1280
      expect(await console.neededWidth()).toBe(width)
    }
  })
})
