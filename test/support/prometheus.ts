import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { waitUntil } from './topologies/ask-node.ts'
import { Child } from './topologies/child.ts'

/** A series that an expression has now. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  /** Seconds since 1970, and the value as text. */
  readonly value: readonly [number, string]
}

/** A rule as Prometheus has judged it. */
export interface JudgedRule {
  readonly name: string
  readonly health: 'ok' | 'err' | 'unknown'
  readonly state: 'inactive' | 'pending' | 'firing'
}

/** A Prometheus of Debian that scrapes servers each second. */
export class Prometheus {
  readonly url: string
  readonly #child: Child
  readonly #dir: string

  private constructor(url: string, dir: string, child: Child) {
    this.url = url
    this.#dir = dir
    this.#child = child
  }

  /**
   * Starts it. JSON is YAML: so its configuration needs no writer.
   *
   * @param targets Addresses of the administrators' listeners, scraped as the job `respcast`.
   * @param rules Path of a file of rules.
   */
  static async start(targets: readonly string[], rules: string): Promise<Prometheus> {
    const dir = mkdtempSync(join(tmpdir(), 'respcast-prometheus-'))
    const file = join(dir, 'prometheus.json')
    writeFileSync(
      file,
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [rules],
        scrape_configs: [{ job_name: 'respcast', static_configs: [{ targets }] }],
      }),
    )
    const listen = `127.0.0.1:${await freePort()}`
    const flags = [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=${listen}`,
    ]
    const env = { PATH: process.env['PATH'] }
    const child = new Child(['prometheus', ...flags], { cwd: dir, env }, join(dir, 'log'))
    child.spawn()
    const prometheus = new Prometheus(`http://${listen}`, dir, child)
    await waitUntil('Prometheus is ready', async () => {
      if (!child.isAlive) throw new Error(`Prometheus ended: ${child.log.slice(-1000)}`)
      return (await fetch(`${prometheus.url}/-/ready`).catch(() => undefined))?.ok ?? false
    })
    return prometheus
  }

  /** The series of an expression now. @throws Error It is none. */
  async query(expression: string): Promise<readonly Series[]> {
    const address = `${this.url}/api/v1/query?query=${encodeURIComponent(expression)}`
    const answer = (await (await fetch(address)).json()) as {
      readonly error?: string
      readonly data?: { readonly result: readonly Series[] }
    }
    if (answer.data === undefined) throw new Error(`${expression}: ${answer.error}`)
    return answer.data.result
  }

  /** All rules, as they were judged last. */
  async rules(): Promise<readonly JudgedRule[]> {
    const answer = (await (await fetch(`${this.url}/api/v1/rules`)).json()) as {
      readonly data: { readonly groups: readonly { readonly rules: readonly JudgedRule[] }[] }
    }
    return answer.data.groups.flatMap(({ rules }) => rules)
  }

  /** Ends it, and removes what it has stored. */
  async stop(): Promise<void> {
    await this.#child.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}
