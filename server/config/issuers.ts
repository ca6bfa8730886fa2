import type { DirectiveName } from './directives.ts'
import type { Settings } from './settings.ts'
import type { DirectiveType, Spec } from './spec.ts'
import { ISSUER_PROPERTIES, NAMED_ISSUER_PROPERTIES } from './tables/tokens.ts'
import { parseValue } from './values.ts'
import type { Value, ValueOf } from './values.ts'

/** Configuration of one issuer. Texts are byte strings, files absolute paths; empty is unset. */
export interface IssuerSettings {
  /** Undefined for the default issuer. */
  readonly alias: string | undefined
  readonly issuer: string
  readonly audience: readonly string[]
  readonly algorithms: readonly string[]
  readonly jwksUrl: string
  readonly jwksFile: string
  readonly publicKeyFile: string
  readonly secretFile: string
  readonly secret: string
  readonly previousSecretFile: string
  readonly previousSecret: string
  /** Seconds since 1970; 0 is unset. */
  readonly previousSecretUntil: number
  /** A token must name its key. */
  readonly requireKid: boolean
  readonly claimsFormat: 'respcast' | 'scope' | 'authorization-details' | 'groups'
  readonly claim: string
  readonly scopeClaim: string
  /** Prefix of every scope for this server; may be empty. */
  readonly scopePrefix: string
  readonly groupsClaim: string
  /** Pairs of a group and a role; a group may have several. */
  readonly groupRoles: readonly (readonly string[])[]
  readonly leewaySeconds: number
  readonly maxLifetimeSeconds: number
  /** Globs of the roles that may be named; undefined is all. */
  readonly roles: readonly string[] | undefined
  /** Name of the ACL user that bounds the grants; empty is none. */
  readonly ceiling: string
}

type Properties = typeof ISSUER_PROPERTIES & typeof NAMED_ISSUER_PROPERTIES

type Property = keyof Properties

/** Names of the properties of a type. */
type PropertyOf<T extends DirectiveType> = {
  [P in Property]: Properties[P]['type'] extends T ? P : never
}[Property]

const PROPERTIES: Readonly<Record<Property, Spec>> = {
  ...ISSUER_PROPERTIES,
  ...NAMED_ISSUER_PROPERTIES,
}

/** The directives that issuers are made of. */
export const ISSUER_DIRECTIVES: readonly DirectiveName[] = [
  ...(Object.keys(ISSUER_PROPERTIES) as (keyof typeof ISSUER_PROPERTIES)[]).map(
    (name) => `jwt-${name}` as const,
  ),
  'issuer',
]

/**
 * Puts the issuers together: the default one, where any `jwt-*` directive of it was set, then the named ones in the
 * order of their first lines. The last line of a property counts, but `group-role` lines add up. The issuers are not
 * checked for consistency here.
 */
export function issuersOf(settings: Settings): IssuerSettings[] {
  const named = new Map<string, Map<string, Value>>()
  for (const [alias, property, ...words] of settings.lines('issuer') as [string, Property][]) {
    const properties = named.get(alias) ?? new Map<string, Value>()
    const spec = PROPERTIES[property]
    const parsed = parseValue(spec, words, spec.multi ? properties.get(property) : undefined)
    // Lines were checked when they were read.
    if (!('reason' in parsed)) properties.set(property, parsed.value)
    named.set(alias, properties)
  }
  return [
    ...defaultIssuer(settings),
    ...[...named].map(([alias, properties]) =>
      build(settings, alias, (property) => properties.get(property) ?? defaultOf(property)),
    ),
  ]
}

function defaultOf(property: Property): Value {
  const spec = PROPERTIES[property]
  if (spec.multi) return []
  const parsed = parseValue(spec, [spec.default])
  return 'reason' in parsed ? '' : parsed.value
}

function defaultIssuer(settings: Settings): IssuerSettings[] {
  const names = Object.keys(ISSUER_PROPERTIES) as (keyof typeof ISSUER_PROPERTIES)[]
  if (names.every((name) => settings.source(`jwt-${name}`).kind === 'default')) return []
  const built = build(settings, undefined, (property) => {
    if (property === 'roles') return ''
    return settings.value(`jwt-${property}`)
  })
  return [{ ...built, roles: undefined }]
}

function build(
  settings: Settings,
  alias: string | undefined,
  get: (property: Property) => Value,
): IssuerSettings {
  const value = <T extends DirectiveType>(property: PropertyOf<T>): ValueOf<T> =>
    get(property) as ValueOf<T>
  const text = value<'string'>
  const file = (property: PropertyOf<'string'>): string => settings.inDir(text(property))
  return {
    alias,
    issuer: text('issuer'),
    audience: value<'list'>('audience'),
    algorithms: value<'list'>('algorithms'),
    jwksUrl: text('jwks-url'),
    jwksFile: file('jwks-file'),
    publicKeyFile: file('public-key-file'),
    secretFile: file('secret-file'),
    secret: text('secret'),
    previousSecretFile: file('previous-secret-file'),
    previousSecret: text('previous-secret'),
    previousSecretUntil: value<'integer'>('previous-secret-until'),
    requireKid: value<'boolean'>('require-kid'),
    claimsFormat: get('claims-format') as IssuerSettings['claimsFormat'],
    claim: text('claim'),
    scopeClaim: text('scope-claim'),
    scopePrefix: text('scope-prefix'),
    groupsClaim: text('groups-claim'),
    groupRoles: value<'lines'>('group-role'),
    leewaySeconds: value<'seconds'>('leeway'),
    maxLifetimeSeconds: value<'seconds'>('max-lifetime'),
    roles: value<'list'>('roles'),
    ceiling: text('ceiling'),
  }
}
