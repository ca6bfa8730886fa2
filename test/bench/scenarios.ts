/** The figure that a run yields. */
export type Measure =
  | 'deliveries'
  | 'publishes'
  | 'bytes'
  | 'p99'
  | 'memory'
  | 'subscription memory'
  | 'connects'

/** One row of the table. */
export interface Scenario {
  readonly name: string
  /** Arguments for the load, but protocol, port, process and token. */
  readonly load: readonly string[]
  /** Other numbers of messages for some: a rate takes as long to measure as it is slow. */
  readonly messages?: Partial<Record<Contender, number>>
  /** The servers that are compared. */
  readonly against: readonly Contender[]
  readonly measure: Measure
}

/** A server and its protocol. `against` is another build of Respcast. */
export type Contender =
  | 'respcast tcp'
  | 'respcast ws'
  | 'respcast sse'
  | 'respcast http'
  | 'against tcp'
  | 'against ws'
  | 'valkey'
  | 'gateway tcp'
  | 'gateway ws'
  | 'redis'
  | 'nats ws'
  | 'bare node'

const RESP: readonly Contender[] = ['respcast tcp', 'gateway tcp', 'valkey', 'redis']
const ALL: readonly Contender[] = [
  'respcast tcp',
  'respcast ws',
  'gateway tcp',
  'gateway ws',
  'valkey',
  'redis',
  'nats ws',
]

function fanOut(subscribers: number, pipeline: number, messages: number): Scenario {
  return {
    name: `1 -> ${subscribers}, pipeline ${pipeline}`,
    load: ['--subs', subscribers, '--pipeline', pipeline, '--messages', messages].map(String),
    against: ALL,
    measure: 'deliveries',
  }
}

/** The rows, in the order of the table. Loads are sized to take a second or so each. */
export const SCENARIOS: readonly Scenario[] = [
  fanOut(50, 1, 20_000),
  fanOut(50, 16, 60_000),
  fanOut(50, 256, 400_000),
  fanOut(500, 1, 3_000),
  fanOut(500, 16, 10_000),
  fanOut(500, 256, 60_000),
  fanOut(5_000, 1, 120),
  fanOut(5_000, 16, 1_000),
  fanOut(5_000, 256, 4_000),
  {
    name: '16 publishers, pipeline 1, 500 subscribers',
    load: ['--subs', '500', '--pipeline', '1', '--publishers', '16', '--messages', '6000'],
    against: RESP,
    measure: 'deliveries',
  },
  {
    name: '1,000 channels x 1 subscriber, 8 publishers',
    load: '--subs 1000 --channels 1000 --publishers 8 --pipeline 16 --messages 200000'.split(' '),
    against: RESP,
    measure: 'deliveries',
  },
  {
    name: 'no subscriber, pipeline 16',
    load: ['--subs', '0', '--pipeline', '16', '--messages', '800000'],
    against: [...RESP, 'bare node'],
    measure: 'publishes',
  },
  {
    name: 'no subscriber, pipeline 256',
    load: ['--subs', '0', '--pipeline', '256', '--messages', '2000000'],
    against: [...RESP, 'bare node'],
    measure: 'publishes',
  },
  {
    name: '10,000 idle patterns, pipeline 16',
    load: ['--subs', '0', '--pattern', '10000', '--pipeline', '16', '--messages', '800000'],
    messages: { valkey: 20_000 },
    against: ['respcast tcp', 'valkey'],
    measure: 'publishes',
  },
  {
    name: '16 KiB payload, 50 subscribers',
    load: '--subs 50 --payload 16384 --pipeline 16 --messages 8000'.split(' '),
    against: RESP,
    measure: 'bytes',
  },
  {
    name: '1 MiB payload, 50 subscribers',
    load: '--subs 50 --payload 1048576 --pipeline 2 --messages 120'.split(' '),
    against: RESP,
    measure: 'bytes',
  },
  {
    name: '1,000 msg/s x 50, latency p99 (us)',
    load: '--subs 50 --rate 1000 --seconds 5'.split(' '),
    against: RESP,
    measure: 'p99',
  },
  {
    name: '10,000 connections, idle for 40 s (kB each)',
    load: '--subs 10000 --messages 0 --settle 40'.split(' '),
    against: ['respcast tcp', 'respcast ws', 'valkey'],
    measure: 'memory',
  },
  {
    name: '10,000 connections, just opened (kB each)',
    load: '--subs 10000 --messages 0'.split(' '),
    against: ['respcast tcp', 'respcast ws', 'valkey'],
    measure: 'memory',
  },
  {
    name: '1,000,000 subscriptions, 100 clients x 10,000 names of their own (bytes each)',
    load: '--subs 100 --each 10000 --own 1 --messages 0'.split(' '),
    against: ['respcast tcp', 'valkey'],
    measure: 'subscription memory',
  },
  {
    name: '1,000,000 subscriptions, 100 clients x the same 10,000 names (bytes each)',
    load: '--subs 100 --each 10000 --messages 0'.split(' '),
    against: ['respcast tcp', 'valkey'],
    measure: 'subscription memory',
  },
  {
    name: 'streams of events, 1 -> 500, pipeline 16',
    load: ['--subs', '500', '--pipeline', '16', '--messages', '10000'],
    against: ['respcast ws', 'respcast sse'],
    measure: 'deliveries',
  },
  {
    name: 'streams of events, 1 -> 500, pipeline 1',
    load: ['--subs', '500', '--pipeline', '1', '--messages', '3000'],
    against: ['respcast ws', 'respcast sse'],
    measure: 'deliveries',
  },
  {
    name: 'HTTP publish, keep-alive, 32 connections',
    load: ['--subs', '0', '--pipeline', '1', '--publishers', '32', '--messages', '60000'],
    against: ['respcast http'],
    measure: 'publishes',
  },
  {
    name: 'connects with a token per second',
    load: '--subs 5000 --pipeline 1 --messages 1'.split(' '),
    against: ['respcast ws'],
    measure: 'connects',
  },
]
