import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { trustOf } from '../../server/addresses.ts'
import { checkConfiguration } from '../../server/cli/check.ts'
import { requireInCi } from '../interop/endpoint.ts'
import { endProgram, runProgram } from '../interop/run-program.ts'
import { folderWith } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { eventually } from '../support/opened.ts'
import { ROOT } from '../support/process.ts'
import { findProgram } from '../support/redis-servers.ts'
import { connectRaw, connectWebSocket } from '../support/resp-client.ts'
import { waitUntil } from '../support/topologies/ask-node.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startStandalone } from '../support/topologies/standalone.ts'

const DEPLOY = join(ROOT, 'deploy')
const PYTHON = '/usr/bin/python3'
const SECRET = 'a-secret-of-the-manual-with-more-than-32-bytes'

const hasYaml = requireInCi(
  spawnSync(PYTHON, ['-c', 'import yaml']).status === 0,
  'a reader of YAML (python3-yaml)',
)
const canAnalyse = findProgram('systemd-analyze') !== undefined
const hasNginx = ['nginx', 'valkey-server'].every((name) => findProgram(name) !== undefined)

afterEach(() => {
  vi.unstubAllEnvs()
})

function read(path: string): string {
  return readFileSync(join(DEPLOY, path), 'utf8')
}

/** The documents of a YAML file. */
function yaml<T>(path: string): T[] {
  const program =
    'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))'
  return JSON.parse(
    execFileSync(PYTHON, ['-c', program, join(DEPLOY, path)], { encoding: 'utf8' }),
  ) as T[]
}

/** The value of a directive in the text of a configuration. */
function directive(configuration: string, name: string): string | undefined {
  return new RegExp(`^${name} (.+)$`, 'm').exec(configuration)?.[1]
}

/** Seconds that whoever ends a server has to wait for: its grace, its drain, and five more. */
function drainSeconds(configuration: string): number {
  const grace = Number(directive(configuration, 'drain-grace-seconds') ?? 5)
  return grace + Number(directive(configuration, 'drain-seconds') ?? 30) + 5
}

/** Checks a configuration as the server would read it, with its files in a folder. */
async function check(configuration: string): Promise<void> {
  const folder = folderWith({
    'respcast.conf': configuration,
    'jwt-secret': SECRET,
    'metrics-token': 'a-token-of-the-scraper-with-some-length',
  })
  vi.stubEnv('RESPCAST_CONF_REQUIREPASS', 'long-and-random')
  const files = ['jwt-secret', 'metrics-token'].flatMap((name) =>
    configuration.includes(`${name}-file`) ? [`--${name}-file`, join(folder, name)] : [],
  )
  await expect(
    checkConfiguration([join(folder, 'respcast.conf'), '--dir', folder, ...files]),
  ).resolves.toBeDefined()
}

describe('deploy/Dockerfile', () => {
  const dockerfile = read('Dockerfile')
  const words = (instruction: string): string[] =>
    JSON.parse(
      new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(dockerfile)?.[1] ?? '[]',
    ) as string[]

  test('is made of pinned images, and runs as nobody in particular', () => {
    const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
    expect(new Set(images)).toEqual(new Set(['node:20.19-bookworm-slim']))
    expect(dockerfile).toMatch(/^USER 10001:10001$/m)
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
    expect(ignored).toEqual(expect.arrayContaining(['node_modules', 'dist', '.git']))
  })

  test('copies what serves, and what answers its health check', { timeout: 60_000 }, async () => {
    const image = folderWith()
    const copies = [...dockerfile.matchAll(/^COPY --from=build (.+) (\S+)$/gm)]
    for (const [, sources = '', target = ''] of copies) {
      for (const name of sources.split(' ').map((path) => basename(path))) {
        const to = target.endsWith('/') ? join(image, target, name) : join(image, target)
        if (name === 'node_modules') symlinkSync(join(ROOT, name), to)
        else cpSync(join(ROOT, name), to, { recursive: true })
      }
    }
    expect(readdirSync(image).toSorted()).toEqual([
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
    ])
    const [resp, http, admin] = [await freePort(), await freePort(), await freePort()]
    const file = join(
      folderWith({
        'respcast.conf': `port ${resp}\nhttp-port ${http}\nadmin-port ${admin}\ndir ${folderWith()}\n`,
      }),
      'respcast.conf',
    )
    const inImage = (parts: string[]): string[] =>
      parts.map((part) => (part === '/etc/respcast/respcast.conf' ? file : part))
    const start = [...words('ENTRYPOINT'), ...inImage(words('CMD'))]
    expect(start).toEqual(['node', 'dist/server/main.js', file])
    const server = runProgram('/bin/sh', ['-c', `cd ${image} && exec ${start.join(' ')}`])
    onTestFinished(() => endProgram(server))
    await eventually('it is ready', () => server.output().includes('ready to accept connections'))
    const [, health = '[]'] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(dockerfile) ?? []
    const [program = '', ...args] = inImage(JSON.parse(health) as string[])
    const { status, stdout } = spawnSync(program, args, { cwd: image, encoding: 'utf8' })
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining('"ready"') as string,
    })
  })
})

describe('deploy/systemd', () => {
  const service = read('systemd/respcast.service')
  const sockets = ['respcast-resp.socket', 'respcast-http.socket']

  test('waits for the drain, and names sockets of listeners', () => {
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(service)?.[1])).toBeGreaterThanOrEqual(
      drainSeconds(''),
    )
    const names = sockets.map(
      (file) => /^FileDescriptorName=(\w+)$/m.exec(read(`systemd/${file}`))?.[1],
    )
    expect(names).toEqual(['resp', 'http'])
  })

  test.runIf(canAnalyse)(
    'is a unit that systemd takes, with an exposure of at most 1.5 of 10',
    () => {
      const units = folderWith(
        Object.fromEntries(
          ['respcast.service', ...sockets].map((file) => [
            file,
            read(`systemd/${file}`).replaceAll('/usr/bin/node ', `${process.execPath} `),
          ]),
        ),
      )
      const analyse = (...args: string[]): { status: number | null; said: string } => {
        const { status, stderr } = spawnSync('systemd-analyze', args, {
          cwd: units,
          encoding: 'utf8',
        })
        // Other units of the machine may have faults of their own.
        return {
          status,
          said: stderr
            .split('\n')
            .filter((line) => line.includes('respcast'))
            .join('\n'),
        }
      }
      const verified = analyse(
        'verify',
        ...['respcast.service', ...sockets].map((file) => `./${file}`),
      )
      expect(verified).toEqual({ status: 0, said: '' })
      const { status } = analyse(
        'security',
        '--offline=true',
        '--threshold=15',
        './respcast.service',
      )
      expect(status).toBe(0)
    },
  )
})

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string
        readonly stop_grace_period?: string
        readonly networks?: { readonly inside: { readonly ipv4_address?: string } | null }
      }
    >
  >
  readonly networks: {
    readonly inside: {
      readonly ipam: { readonly config: readonly { readonly ip_range: string }[] }
    }
  }
}

describe('deploy/compose', () => {
  const configuration = read('compose/respcast.conf')

  test('has gateways whose configuration the server accepts', async () => {
    await check(configuration)
  })

  test.runIf(hasYaml)('waits for the drain of its gateways, and has pinned images', () => {
    const [compose] = yaml<ComposeFile>('compose/compose.yml')
    const { services = {} } = compose ?? {}
    expect(Object.keys(services)).toEqual(['valkey', 'gateway-1', 'gateway-2', 'nginx'])
    for (const name of ['gateway-1', 'gateway-2']) {
      const seconds = Number.parseInt(services[name]?.stop_grace_period ?? '0', 10)
      expect(seconds).toBeGreaterThanOrEqual(drainSeconds(configuration))
      expect(read('compose/nginx.conf')).toContain(
        `server ${name}:${directive(configuration, 'http-port')} `,
      )
    }
    // Nobody else may get the address that is believed.
    const trusted = services['nginx']?.networks?.inside?.ipv4_address ?? ''
    expect(directive(configuration, 'trusted-proxies')).toBe(trusted)
    const ranges = compose?.networks.inside.ipam.config.map(({ ip_range: range }) => range) ?? []
    const isHandedOut = trustOf(ranges)
    expect(isHandedOut && !isHandedOut(trusted)).toBe(true)
    for (const name of ['valkey', 'nginx']) {
      expect(services[name]?.image).toMatch(/:\d+\.\d+-alpine$/)
    }
  })

  test.runIf(hasNginx)(
    'has an nginx that leads browsers to both gateways',
    { timeout: 60_000 },
    async () => {
      const upstream = await startStandalone({ program: 'valkey-server' })
      onTestFinished(() => upstream.stop())
      const gateways: GatewayProcess[] = []
      for (const at of [0, 1]) {
        const directives = [
          '--trusted-proxies',
          '127.0.0.1',
          '--ws-allowed-origins',
          'http://localhost:8080',
        ]
        gateways[at] = await GatewayProcess.start({ upstream: upstream.url, directives })
        onTestFinished(() => gateways[at]?.stop())
      }
      const port = await freePort()
      const [one, two] = gateways.map(({ wsUrl }) => new URL(wsUrl).host)
      const folder = folderWith({
        'nginx.conf': `daemon off; pid nginx.pid; error_log stderr;\n${read('compose/nginx.conf')
          .replace('gateway-1:8080', one ?? '')
          .replace('gateway-2:8080', two ?? '')
          .replace('listen 8080', `listen 127.0.0.1:${port}`)}`,
      })
      mkdirSync(join(folder, 'logs'))
      const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
      expect(spawnSync('nginx', ['-t', ...args]).status).toBe(0)
      const nginx = runProgram('nginx', args)
      onTestFinished(async () => {
        // Its workers end with it.
        nginx.child.kill('SIGTERM')
        await nginx.ended
      })
      const url = `ws://127.0.0.1:${port}/ws`
      const token = await gateways[0]?.mint('42')
      const pages = []
      await waitUntil('nginx answers', async () => (await fetch(`http://127.0.0.1:${port}/`)).ok)
      for (let count = 0; count < 6; count++) {
        const page = await connectWebSocket(url, {
          ...(token === undefined ? {} : { token }),
          origin: 'http://localhost:8080',
        })
        onTestFinished(() => page.destroy())
        await page.takeAccepted('jwt:42')
        await page.assertReply(
          ['SUBSCRIBE', 'news'],
          '>3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n',
        )
        pages.push(page)
      }
      const publisher = await connectRaw(upstream.node.port)
      onTestFinished(() => publisher.destroy())
      publisher.command('PUBLISH', 'news', 'hello')
      // Each gateway has subscribed once.
      await publisher.takeExactly(':2\r\n')
      for (const page of pages) {
        await page.takeExactly('>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n')
      }
    },
  )
})

interface Named {
  readonly name: string
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Manifest {
  readonly kind: string
  readonly metadata: Named
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly maxUnavailable?: number
    readonly selector: { readonly matchLabels?: object }
    readonly podSelector?: { readonly matchLabels: object }
    readonly ports?: readonly { readonly targetPort: string }[]
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[]
    readonly volumeClaimTemplates?: readonly { readonly metadata: Named }[]
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly volumes: readonly Named[]
        readonly containers: readonly {
          readonly args: readonly string[]
          readonly ports: readonly (Named & { readonly containerPort: number })[]
          readonly volumeMounts: readonly (Named & { readonly mountPath: string })[]
          readonly readinessProbe: Probe
          readonly livenessProbe: Probe
          readonly startupProbe: Probe
        }[]
      }
    }
  }
}

describe.runIf(hasYaml)('deploy/kubernetes/respcast.yml', () => {
  const manifests = hasYaml ? yaml<Manifest>('kubernetes/respcast.yml') : []
  const of = (kind: string): Manifest => {
    const found = manifests.find((manifest) => manifest.kind === kind)
    if (found === undefined) throw new Error(`there is no ${kind}`)
    return found
  }
  const configuration = of('ConfigMap').data?.['respcast.conf'] ?? ''
  const { template, volumeClaimTemplates = [] } = of('StatefulSet').spec
  const [container] = template.spec.containers

  test('has a configuration that the server accepts', async () => {
    await check(configuration)
  })

  test('waits for the drain, and keeps all gateways but one', () => {
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      drainSeconds(configuration),
    )
    expect(of('PodDisruptionBudget').spec.maxUnavailable).toBe(1)
  })

  test('has one name for each port, which is that of its directive', () => {
    const ports = container?.ports ?? []
    expect(ports.map(({ name, containerPort }) => `${name} ${containerPort}`)).toEqual([
      `resp ${directive(configuration, 'port')}`,
      `http ${directive(configuration, 'http-port')}`,
      `admin ${directive(configuration, 'admin-port')}`,
    ])
    const named = [
      ...manifests.filter(({ kind }) => kind === 'Service').flatMap(({ spec }) => spec.ports ?? []),
    ].map(({ targetPort }) => targetPort)
    const allowed = of('NetworkPolicy').spec.ingress?.flatMap((rule) =>
      rule.ports.map(({ port }) => port),
    )
    const known = ports.map(({ name }) => name)
    expect(known).toEqual(expect.arrayContaining([...named, ...(allowed ?? [])]))
  })

  test('asks the paths of the administrators’ listener', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container ?? {}
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).toEqual([
      { path: '/livez', port: 'admin' },
      { path: '/livez', port: 'admin' },
      { path: '/readyz', port: 'admin' },
    ])
  })

  test('mounts what the configuration names', () => {
    const mounts = container?.volumeMounts ?? []
    const volumes = [
      ...template.spec.volumes,
      ...volumeClaimTemplates.map(({ metadata }) => metadata),
    ]
    expect(mounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name))
    const paths = [
      container?.args[0],
      directive(configuration, 'jwt-secret-file'),
      directive(configuration, 'metrics-token-file'),
      directive(configuration, 'dir'),
    ]
    for (const path of paths) {
      expect(mounts.some(({ mountPath }) => `${path}/`.startsWith(`${mountPath}/`))).toBe(true)
    }
  })

  test('selects its own pods everywhere', () => {
    const { labels } = template.metadata
    for (const kind of ['StatefulSet', 'PodDisruptionBudget']) {
      expect(of(kind).spec.selector.matchLabels).toEqual(labels)
    }
    expect(of('NetworkPolicy').spec.podSelector?.matchLabels).toEqual(labels)
    for (const { spec } of manifests.filter(({ kind }) => kind === 'Service')) {
      expect(spec.selector).toEqual(labels)
    }
  })
})
