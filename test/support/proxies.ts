import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { KeyPair } from './certificates.ts'
import { freePort } from './free-port.ts'
import { ROOT } from './process.ts'
import { findProgram } from './redis-servers.ts'

/** Longest start of a proxy, on a busy machine. */
const PATIENCE_MS = 15_000

/** The servers behind a proxy, and what is changed of the snippet beside addresses and certificates. */
export interface ProxyOptions {
  readonly httpPort: number
  readonly adminPort: number
  readonly respPort: number
  readonly certificate: KeyPair
  /** An empty folder for its files. */
  readonly folder: string
  /** Texts of the snippet and what replaces them, such as its timeouts. Each has to be there. */
  readonly changes?: Readonly<Record<string, string>>
}

/** A proxy that runs, on ports of its own. */
export interface RunningProxy {
  /** Of 127.0.0.1 and localhost. */
  readonly httpsPort: number
  readonly respPort: number
  /** Has it read its configuration again, as its operator does. Settles when the new one serves. */
  readonly reload: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A make of proxy. */
export interface ProxyKind {
  readonly name: 'nginx' | 'haproxy' | 'caddy'
  /** It forwards RESP. */
  readonly forwardsTcp: boolean
  /** Directives of time in its snippet, with which a silent connection is ended after four seconds. */
  readonly impatience: Readonly<Record<string, string>>
  /** A reload leaves connections alone that are open. */
  readonly keepsClients: boolean
  /** It ends a stream of events as soon as the client has left, and not with the second event after that. */
  readonly endsStreams: boolean
  /** The status with which it answers for a server that is gone. */
  readonly goneStatus: number
  start(options: ProxyOptions): Promise<RunningProxy>
}

/** The fenced blocks of docs/proxies.md in one language, in order. */
export function snippetsOf(language: string): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/proxies.md'), 'utf8')
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))]
  if (blocks.length === 0) throw new Error(`docs/proxies.md has no snippet for ${language}`)
  return blocks.map(([, text = '']) => text)
}

/** Replaces texts that have to be there. */
function replaced(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`docs/proxies.md: the snippet lacks '${from}'`)
    return before.replaceAll(from, to)
  }, text)
}

/** True if all proxies are installed. On a build machine (`CI=true`) a missing one is a failure of its tests. */
export function isInstalled(kind: ProxyKind): boolean {
  return findProgram(kind.name) !== undefined || process.env['CI'] === 'true'
}

interface Started {
  readonly child: ChildProcess
  readonly output: () => string
  readonly stop: () => Promise<void>
}

function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Started {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  })
  let output = ''
  const listen = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', (error) => {
      output += String(error)
      resolve()
    })
  })
  return {
    child,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 1_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Waits until something listens. @throws Error The program ended, or listens nowhere in time. */
async function listens(started: Started, port: number): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS
  while (!(await isOpen(port))) {
    if (started.child.exitCode !== null || performance.now() > deadlineMs) {
      throw new Error(`the proxy does not listen: ${started.output()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

function count(started: Started, text: string): number {
  return started.output().split(text).length - 1
}

/** Waits until a text is so many times in the output of a program. */
async function says(started: Started, text: string, times: number): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS
  while (count(started, text) < times) {
    if (performance.now() > deadlineMs) throw new Error(`no '${text}': ${started.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const nginx: ProxyKind = {
  name: 'nginx',
  forwardsTcp: true,
  impatience: {
    'proxy_read_timeout 60s': 'proxy_read_timeout 4s',
    'proxy_timeout 1h': 'proxy_timeout 4s',
  },
  keepsClients: true,
  endsStreams: true,
  goneStatus: 502,
  start: async (options) => {
    const { folder, certificate } = options
    const [httpsPort, respPort] = [await freePort(), await freePort()]
    const text = replaced(snippetsOf('nginx').join('\n'), {
      'listen 443 ssl': `listen 127.0.0.1:${httpsPort} ssl`,
      'listen 6379': `listen 127.0.0.1:${respPort}`,
      '127.0.0.1:8080': `127.0.0.1:${options.httpPort}`,
      '127.0.0.1:6380': `127.0.0.1:${options.respPort}`,
      '/etc/nginx/push.example.com.crt': certificate.cert,
      '/etc/nginx/push.example.com.key': certificate.key,
      ...options.changes,
    })
    const [http = '', stream = ''] = text.split(/(?=^stream \{)/m)
    const file = join(folder, 'nginx.conf')
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join('\n')
    writeFileSync(
      file,
      `load_module /usr/lib/nginx/modules/ngx_stream_module.so;
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
error_log stderr notice;
events {}
http {
access_log off;
${paths}
${http}
}
${stream}`,
    )
    const args = ['-p', folder, '-c', file, '-e', 'stderr']
    const started = run('nginx', args)
    await listens(started, httpsPort)
    let reloads = 0
    return {
      httpsPort,
      respPort,
      stop: started.stop,
      reload: async () => {
        spawnSync('nginx', [...args, '-s', 'reload'])
        // The old worker stops accepting once it is told to shut down.
        await says(started, 'gracefully shutting down', ++reloads)
      },
    }
  },
}

const haproxy: ProxyKind = {
  name: 'haproxy',
  forwardsTcp: true,
  impatience: {
    'timeout tunnel 1h': 'timeout tunnel 4s',
    'timeout client 60s': 'timeout client 4s',
    'timeout server 60s': 'timeout server 4s',
  },
  keepsClients: true,
  endsStreams: false,
  goneStatus: 503,
  start: async (options) => {
    const { folder, certificate } = options
    const [httpsPort, respPort] = [await freePort(), await freePort()]
    const pem = join(folder, 'server.pem')
    writeFileSync(
      pem,
      readFileSync(certificate.cert, 'utf8') + readFileSync(certificate.key, 'utf8'),
    )
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(
      file,
      replaced(snippetsOf('haproxy').join('\n'), {
        'bind :443': `bind 127.0.0.1:${httpsPort}`,
        'bind :6379': `bind 127.0.0.1:${respPort}`,
        '127.0.0.1:8080': `127.0.0.1:${options.httpPort}`,
        'port 8081': `port ${options.adminPort}`,
        '127.0.0.1:6380': `127.0.0.1:${options.respPort}`,
        '/etc/haproxy/push.example.com.pem': pem,
        ...options.changes,
      }),
    )
    // Master and worker, as Debian's unit starts it.
    const started = run('haproxy', ['-W', '-f', file])
    await listens(started, httpsPort)
    let loads = 1
    await says(started, 'Loading success.', loads)
    return {
      httpsPort,
      respPort,
      stop: started.stop,
      reload: async () => {
        loads++
        // A master that has just started may not listen to signals yet.
        const again = setInterval(() => {
          if (count(started, 'Reloading HAProxy') < loads - 1) started.child.kill('SIGUSR2')
        }, 300)
        started.child.kill('SIGUSR2')
        await says(started, 'Loading success.', loads).finally(() => clearInterval(again))
      },
    }
  },
}

const caddy: ProxyKind = {
  name: 'caddy',
  forwardsTcp: false,
  impatience: {},
  keepsClients: false,
  endsStreams: true,
  goneStatus: 502,
  start: async (options) => {
    const { folder, certificate } = options
    const [httpsPort, adminPort] = [await freePort(), await freePort()]
    const file = join(folder, 'Caddyfile')
    const site = `https://localhost:${httpsPort}, https://127.0.0.1:${httpsPort} {`
    const text = replaced(snippetsOf('caddyfile').join('\n'), {
      'push.example.com {': `${site}\n  tls ${certificate.cert} ${certificate.key}`,
      '127.0.0.1:8080': `127.0.0.1:${options.httpPort}`,
      ...options.changes,
    })
    // Ports of this machine must not be opened for redirections, nor certificates be asked for.
    writeFileSync(file, `{\n  admin localhost:${adminPort}\n  auto_https off\n}\n${text}`)
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
    const args = ['--config', file, '--adapter', 'caddyfile']
    const started = run('caddy', ['run', ...args], env)
    await listens(started, httpsPort)
    return {
      httpsPort,
      respPort: 0,
      stop: started.stop,
      reload: async () => {
        const reloader = run(
          'caddy',
          ['reload', ...args, '--address', `localhost:${adminPort}`, '--force'],
          env,
        )
        const code = await new Promise((resolve) => reloader.child.once('close', resolve))
        if (code !== 0) throw new Error(`caddy reload: ${reloader.output()}`)
      },
    }
  },
}

/** All that the tests know. */
export const PROXY_KINDS: readonly ProxyKind[] = [nginx, haproxy, caddy]
