import { compileGlob } from '../../shared/glob.ts'
import { directiveNames, findDirective } from './directives.ts'
import { holdsSecret } from './issuer.ts'
import type { Setting, SettingMap } from './settings.ts'
import { quoteWord } from '../../shared/words.ts'

/** What stands in the place of a secret. */
export const REDACTED = '(redacted)'

/**
 * The answer to CONFIG GET: each name once, however many patterns it matches. Names are answered as they were typed,
 * those that a pattern found in lower case, aliases among them.
 *
 * @param patterns Byte strings.
 * @see Redis CONFIG GET
 */
export function listConfig(
  settings: SettingMap,
  patterns: readonly string[],
): [name: string, value: string][] {
  const found = new Map<string, [name: string, value: string]>()
  const add = (typed: string, setting: Setting): void => {
    const key = typed.toLowerCase()
    if (!setting.directive.fileOnly && !found.has(key)) found.set(key, [typed, shownText(setting)])
  }
  for (const pattern of patterns) {
    if (!/[*?[]/.test(pattern)) {
      const directive = findDirective(pattern)
      if (directive) add(pattern, settings.get(directive.name) as Setting)
      continue
    }
    const glob = compileGlob(pattern, { ignoreCase: true })
    for (const [name, directive] of directiveNames()) {
      if (!directive.hidden && glob.matches(name))
        add(name, settings.get(directive.name) as Setting)
    }
  }
  return [...found.values()]
}

function shownText({ directive, text, value }: Setting): string {
  if (directive.secret) return text === '' ? '' : REDACTED
  if (directive.name !== 'issuer') return text
  const lines = value as readonly (readonly string[])[]
  return lines
    .map((words) =>
      (holdsSecret(words) ? [...words.slice(0, 2), REDACTED] : words).map(quoteWord).join(' '),
    )
    .join('\n')
}
