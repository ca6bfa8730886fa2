/** A connection of the gateway to a node of the upstream. */
export interface UpstreamLink {
  readonly role: string
  readonly address: string
  readonly isUp: boolean
  /** For how long it has been up or down. */
  readonly seconds: number
}

/** The Redis or Valkey that several gateways share, as INFO upstream shows it. */
export interface Upstream {
  readonly address: string
  readonly isReady: boolean
  /** Reasons why it is not ready, one sentence each. */
  readonly problems: readonly string[]
  readonly links: readonly UpstreamLink[]
  readonly wanted: number
  readonly confirmed: number
  /** Time of the last beacon through the upstream and back. Undefined before the first. */
  readonly beaconMs: number | undefined
  /** Mean time until a publish was answered. Undefined before the first. */
  readonly publishMs: number | undefined
  readonly inFlightBytes: number
  readonly unwantedBytes: number
  readonly reconnects: Counts
  readonly gaps: Counts
  readonly gapSeconds: number
}

/** A count, and its parts by cause. */
export interface Counts {
  readonly total: number
  readonly causes: readonly (readonly [cause: string, count: number])[]
}

/** Reads the fields of INFO upstream; undefined for a gateway without an upstream. */
export function readUpstream(fields: ReadonlyMap<string, string>): Upstream | undefined {
  const ready = fields.get('upstream_ready')
  if (ready === undefined) return undefined
  const figure = (name: string): number => Number(fields.get(name) ?? 0)
  const milliseconds = (name: string): number | undefined => {
    const value = Number(fields.get(name) ?? -1)
    return value < 0 ? undefined : value / 1000
  }
  return {
    address: fields.get('upstream') ?? '',
    isReady: ready === '1',
    problems: numbered(fields, 'upstream_problem'),
    links: numbered(fields, 'upstream_link').map((text) => {
      const link = pairs(text)
      return {
        role: link.get('role') ?? '',
        address: link.get('address') ?? '',
        isUp: link.get('state') === 'up',
        seconds: Number(link.get('seconds') ?? 0),
      }
    }),
    wanted: figure('upstream_names_wanted'),
    confirmed: figure('upstream_names_confirmed'),
    beaconMs: milliseconds('upstream_beacon_usec'),
    publishMs: milliseconds('upstream_usec_per_publish'),
    inFlightBytes: figure('upstream_in_flight_bytes'),
    unwantedBytes: figure('upstream_unwanted_bytes'),
    reconnects: counts(fields.get('upstream_reconnects')),
    gaps: counts(fields.get('upstream_gaps')),
    gapSeconds: figure('upstream_gap_seconds'),
  }
}

/** `name0`, `name1` and so on. */
function numbered(fields: ReadonlyMap<string, string>, name: string): string[] {
  const values: string[] = []
  for (;;) {
    const value = fields.get(`${name}${values.length}`)
    if (value === undefined) return values
    values.push(value)
  }
}

/** `role=command,state=up` by name. */
function pairs(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(',').map((pair) => {
      const [name = '', ...value] = pair.split('=')
      return [name, value.join('=')]
    }),
  )
}

function counts(text = ''): Counts {
  const all = pairs(text)
  const causes = [...all].filter(([name]) => name !== 'total' && name !== '')
  return {
    total: Number(all.get('total') ?? 0),
    causes: causes.map(([cause, count]) => [cause, Number(count)]),
  }
}
