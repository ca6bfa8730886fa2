import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { ROOT } from './process.ts'
import { findProgram } from './redis-servers.ts'

/** Programs that tests are skipped without, and the packages of Debian that have them. */
const PROGRAMS: readonly (readonly [names: readonly string[], debian: string])[] = [
  [['valkey-server'], 'valkey-server'],
  [['redis-server'], 'redis-server'],
  [['redis-cli', 'valkey-cli'], 'redis-tools'],
  [['chromium', 'chromium-browser', 'google-chrome'], 'chromium'],
  [['openssl'], 'openssl'],
  [['python3'], 'python3 python3-redis python3-jwt python3-django python3-yaml'],
  [['cc'], 'gcc libc6-dev libhiredis-dev'],
  [['prometheus'], 'prometheus'],
  [['ruby'], 'ruby ruby-jwt'],
  [['php'], 'php-cli'],
  [['nginx'], 'nginx-light libnginx-mod-stream'],
  [['haproxy'], 'haproxy'],
  [['caddy'], 'caddy'],
  [['systemd-analyze'], 'systemd'],
  [['go'], 'golang-go golang-github-golang-jwt-jwt-v5-dev'],
]

/** Says at the end which tests were skipped, and how to get them, where the default reporter gives a number. */
export default class MissingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const text = missingText(
      modules.map((module) => ({
        file: relative(ROOT, module.moduleId),
        skipped: [...module.children.allTests('skipped')].length,
      })),
      PROGRAMS.filter(([names]) => findProgram(...names) === undefined),
    )
    if (text !== '') console.log(text)
  }
}

/** @returns Lines of text; none where nothing was skipped for want of a program. */
export function missingText(
  files: readonly { readonly file: string; readonly skipped: number }[],
  missing: typeof PROGRAMS,
): string {
  const affected = files.filter(({ skipped }) => skipped > 0)
  if (affected.length === 0 || missing.length === 0) return ''
  const total = affected.reduce((sum, { skipped }) => sum + skipped, 0)
  return [
    `Skipped: ${total} tests in ${affected.length} files`,
    ...affected.map(({ file, skipped }) => `${String(skipped).padStart(6)} ${file}`),
    `Not installed here: ${missing.map(([names]) => names[0]).join(', ')}`,
    `On Debian: apt-get install ${missing.map(([, debian]) => debian).join(' ')}`,
    '',
  ].join('\n')
}
