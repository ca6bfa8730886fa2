import { RespcastError } from '../errors.ts'
import type { Spec } from './spec.ts'
import type { Statement } from './parse.ts'

/**
 * A configuration that cannot be used; `message` is one line: where, the statement, what is wrong, the remedy.
 *
 * `redis.conf:12: port abc: argument couldn't be parsed into an integer. Give a whole number from 0 to 65535.`
 */
export class ConfigError extends RespcastError {
  /** `file:line`, `command line` or the environment variable. */
  readonly where: string
  /** The directive as it was written; empty where none could be read. */
  readonly directive: string
  readonly reason: string
  readonly remedy: string

  constructor(where: string, shown: string, directive: string, reason: string, remedy: string) {
    super(
      'ERR_CONFIG',
      [where, shown, `${reason}. ${remedy}`].filter((part) => part !== '').join(': '),
    )
    this.name = 'ConfigError'
    this.where = where
    this.directive = directive
    this.reason = reason
    this.remedy = remedy
  }
}

/** The error of a statement whose value is refused. What may hold a secret is not repeated. */
export function valueError(statement: Statement, spec: Spec, reason: string): ConfigError {
  const shown = spec.sensitive ? `${statement.name} ...` : statement.text
  const text = reason.endsWith('.') ? reason.slice(0, -1) : reason
  return new ConfigError(statement.where, shown, statement.name, text, remedyFor(spec, statement))
}

function remedyFor(spec: Spec, statement: Statement): string {
  if (statement.words.some((word) => word.startsWith('#')) && !spec.sensitive) {
    return 'A comment needs a line of its own.'
  }
  switch (spec.type) {
    case 'boolean':
      return 'Write yes or no.'
    case 'integer':
    case 'seconds':
      return `Give a whole number from ${spec.range?.[0]} to ${spec.range?.[1]}.`
    case 'octal':
      return 'Give permissions such as 700.'
    case 'memory':
      return 'Give bytes, or a number with kb, mb or gb.'
    case 'memory-or-percent':
      return 'Give bytes, a number with kb, mb or gb, or a percentage such as 5%.'
    case 'enumeration':
    case 'flags':
      return `Write ${spec.type === 'flags' ? 'one or more' : 'one'} of ${spec.values?.join(', ')}.`
    case 'buffer-limits':
      return 'Give a class (normal, replica, pubsub, websocket), a hard limit, a soft limit and seconds.'
    case 'list':
      return 'Separate the words by spaces.'
    case 'string':
      return statement.words.length > 1
        ? 'Put a value that holds spaces in quotes.'
        : 'Give one value; "" is empty.'
    case 'lines':
      return 'See docs/directives.md.'
  }
}
