/** Types of COMMAND DOCS. */
type ArgumentType = 'string' | 'integer' | 'pattern' | 'key' | 'pure-token' | 'oneof' | 'block'

/** What may be said of any argument. */
interface Traits {
  /** Word that precedes it. */
  readonly token?: string
  /** The text that a usage line shows, where it is not the name. */
  readonly shown?: string
  /** First version that takes it, if it is not that of the command. */
  readonly since?: string
  readonly deprecatedSince?: string
  readonly optional?: true
  readonly multiple?: true
  /** Each of several is preceded by the token. */
  readonly multipleToken?: true
}

/** An argument as COMMAND DOCS describes it, from which redis-cli makes its hints and HELP. */
export interface Argument extends Traits {
  readonly name: string
  readonly type: ArgumentType
  /** The choices of `oneof`, the parts of `block`. */
  readonly arguments?: readonly Argument[]
}

type Maker = (name: string, traits?: Traits) => Argument

const makerOf =
  (type: ArgumentType): Maker =>
  (name, traits) => ({ ...traits, name, type })

export const string = makerOf('string')
export const integer = makerOf('integer')
export const pattern = makerOf('pattern')
export const key = makerOf('key')

/** A word that stands for itself; its name is the same in lower case. */
export function word(token: string, traits?: Traits): Argument {
  return { ...traits, name: token.toLowerCase(), type: 'pure-token', token }
}

/** Words that stand for themselves, separated by spaces. */
export function words(tokens: string): Argument[] {
  return tokens.split(' ').map((token) => word(token))
}

/** One of several. */
export function oneOf(name: string, choices: readonly Argument[], traits?: Traits): Argument {
  return { ...traits, name, type: 'oneof', arguments: choices }
}

/** Several that go together. */
export function block(name: string, parts: readonly Argument[], traits?: Traits): Argument {
  return { ...traits, name, type: 'block', arguments: parts }
}
