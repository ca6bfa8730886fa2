import { loadConfig } from '../../server/config/load.ts'
import { Config } from '../../server/config/store.ts'

/** Directives as on the command line, without the dashes: `{ 'ws-max-patterns': '2', user: [['a', 'on']] }`. */
export type Directives = Readonly<Record<string, string | readonly (readonly string[])[]>>

/** The words of a command line that sets directives. */
export function argvOf(directives: Directives): string[] {
  return Object.entries(directives).flatMap(([name, value]) => {
    const lines = typeof value === 'string' ? [value === '' ? [''] : value.split(' ')] : value
    return lines.flatMap((words) => [`--${name}`, ...words])
  })
}

/** A configuration that sets these directives. Secrets are taken from the environment. */
export function settingsOf(
  directives: Directives = {},
  env: Readonly<Record<string, string>> = {},
  cwd = '/',
): Config {
  return new Config(loadConfig({ argv: argvOf(directives), env, cwd }))
}
