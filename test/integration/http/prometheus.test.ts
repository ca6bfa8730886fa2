import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireInCi } from '../../interop/endpoint.ts'
import { ROOT } from '../../support/process.ts'
import { Prometheus } from '../../support/prometheus.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { connectRaw, connectWebSocket, type RawClient } from '../../support/resp-client.ts'
import { waitUntil } from '../../support/topologies/ask-node.ts'
import { GatewayProcess } from '../../support/topologies/gateway.ts'
import { startStandalone, type Standalone } from '../../support/topologies/standalone.ts'

const RULES = join(ROOT, 'deploy/prometheus/rules.yml')

const isInstalled = requireInCi(
  ['prometheus', 'promtool', 'valkey-server'].every((name) => findProgram(name) !== undefined),
  'prometheus, or valkey-server',
)

/** The parts of a dashboard that ask for figures. */
interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

const PANELS = (
  JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/respcast.json'), 'utf8')) as {
    readonly panels: readonly Panel[]
  }
).panels.filter(({ targets }) => targets !== undefined)

/** An expression as Grafana sends it, with its variables filled in. */
function filled(expression: string): string {
  return expression
    .replaceAll('$job', 'respcast')
    .replaceAll('$instance', '.*')
    .replaceAll('$__rate_interval', '10s')
}

describe.runIf(isInstalled)('what deploy/ has for Prometheus and Grafana', () => {
  let upstream: Standalone | undefined
  const gateways: GatewayProcess[] = []
  const clients: RawClient[] = []
  let prometheus: Prometheus
  const over = new AbortController()

  beforeAll(async () => {
    upstream = await startStandalone({ program: 'valkey-server' })
    for (const at of [0, 1]) {
      gateways[at] = await GatewayProcess.start({ upstream: upstream.url })
    }
    prometheus = await Prometheus.start(
      gateways.map(({ adminPort }) => `127.0.0.1:${adminPort}`),
      RULES,
    )
    await Promise.all(gateways.map(listen))
    void load()
    await waitUntil(
      'six scrapes of both gateways',
      async () => {
        const series = await prometheus.query('count_over_time(up{job="respcast"}[20s]) >= 6')
        return series.length === gateways.length
      },
      30_000,
    )
  }, 60_000)

  afterAll(async () => {
    over.abort()
    for (const client of clients) client.destroy()
    await prometheus?.stop()
    for (const gateway of gateways) await gateway.stop()
    await upstream?.stop()
  })

  /** Has a WebSocket and a backend hear what is published. */
  async function listen(gateway: GatewayProcess): Promise<void> {
    const page = await connectWebSocket(gateway.wsUrl, { token: await gateway.mint('42') })
    const backend = await connectRaw(gateway.port)
    clients.push(page, backend)
    page.command('SUBSCRIBE', 'news')
    backend.command('PSUBSCRIBE', 'ne*')
  }

  /** Publishes, mistakes a command, revokes and leaves, again and again. */
  async function load(): Promise<void> {
    for (let round = 0; !over.signal.aborted; round++) {
      for (const { port } of gateways) {
        const client = await connectRaw(port)
        for (let count = 0; count < 50; count++) client.command('PUBLISH', 'news', 'hello')
        client.command('GET', 'x')
        client.command('TOKEN', 'REVOKE', 'SUB', `nobody-${round}`)
        client.command('QUIT')
        await client.closed
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  test.each(['check rules rules.yml', 'test rules rules.test.yml'])(
    'passes promtool %s',
    (words) => {
      const { status, stdout, stderr } = spawnSync('promtool', words.split(' '), {
        cwd: join(ROOT, 'deploy/prometheus'),
        encoding: 'utf8',
      })
      expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({
        status: 0,
        said: '',
      })
    },
  )

  test.each(PANELS)('shows a number under load: $title', async ({ targets = [] }) => {
    const empty: string[] = []
    for (const expression of targets.map(({ expr }) => filled(expr))) {
      const series = await prometheus.query(expression)
      if (!series.some(({ value: [, text] }) => Number.isFinite(Number(text))))
        empty.push(expression)
    }
    expect(empty).toEqual([])
  })

  test('has alerts of figures that are there, none of which is raised by an ordinary load', async () => {
    const text = readFileSync(RULES, 'utf8')
    const selectors = [...text.matchAll(/^ +expr: (.+)$/gm)].flatMap(([, expression = '']) => [
      ...expression.matchAll(/\b(?:up|(?:respcast|process|nodejs)_\w+)(?:\{[^}]*\})?/g),
    ])
    expect(selectors.length).toBeGreaterThan(18)
    for (const [selector] of selectors) {
      const series = await prometheus.query(`count by (instance) (${selector})`)
      expect({ selector, of: series.length }).toEqual({ selector, of: gateways.length })
    }
    await waitUntil('all rules were judged', async () =>
      (await prometheus.rules()).every(({ health }) => health !== 'unknown'),
    )
    const rules = await prometheus.rules()
    expect(rules.map(({ name, health, state }) => `${name} ${health} ${state}`)).toEqual(
      [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => `${name} ok inactive`),
    )
  })
})
