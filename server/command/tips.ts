const ALL_NODES = 'request_policy:all_nodes'
const ALL_SHARDS = 'request_policy:all_shards'
const ALL_SUCCEEDED = 'response_policy:all_succeeded'
const SUM = 'response_policy:agg_sum'
const LEAST = 'response_policy:agg_min'
const SPECIAL = 'response_policy:special'
const VARYING = 'nondeterministic_output'
const UNORDERED = 'nondeterministic_output_order'

const EVERY_NODE = [ALL_NODES, ALL_SUCCEEDED]
const EVERY_SHARD = [ALL_SHARDS, ALL_SUCCEEDED]
const LATENCY_REPORT = [VARYING, ALL_NODES, SPECIAL]
const MEMORY_REPORT = [VARYING, ALL_SHARDS, SPECIAL]

/** Tips by the full name of a command, in the order in which Redis 8.0 reports them. */
const TIPS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ping', EVERY_SHARD],
  ['client|setname', EVERY_NODE],
  ['client|setinfo', EVERY_NODE],
  ['client|info', [VARYING]],
  ['client|list', [VARYING]],
  ['acl|deluser', EVERY_NODE],
  ['acl|save', EVERY_NODE],
  ['acl|setuser', EVERY_NODE],
  ['info', [VARYING, ALL_SHARDS, SPECIAL]],
  ['config|set', EVERY_NODE],
  ['config|resetstat', EVERY_NODE],
  ['config|rewrite', EVERY_NODE],
  ['time', [VARYING]],
  ['dbsize', [ALL_SHARDS, SUM]],
  ['flushall', EVERY_SHARD],
  ['flushdb', EVERY_SHARD],
  ['lastsave', [VARYING]],
  ['wait', [ALL_SHARDS, LEAST]],
  ['waitaof', [ALL_SHARDS, LEAST]],
  ['command', [UNORDERED]],
  ['command|docs', [UNORDERED]],
  ['command|info', [UNORDERED]],
  ['command|list', [UNORDERED]],
  ['module|list', [UNORDERED]],
  ['slowlog|get', [ALL_NODES, VARYING]],
  ['slowlog|len', [ALL_NODES, SUM, VARYING]],
  ['slowlog|reset', EVERY_NODE],
  ['latency|doctor', LATENCY_REPORT],
  ['latency|graph', LATENCY_REPORT],
  ['latency|histogram', LATENCY_REPORT],
  ['latency|history', LATENCY_REPORT],
  ['latency|latest', LATENCY_REPORT],
  ['latency|reset', [ALL_NODES, SUM]],
  ['memory|doctor', MEMORY_REPORT],
  ['memory|malloc-stats', MEMORY_REPORT],
  ['memory|purge', EVERY_SHARD],
  ['memory|stats', MEMORY_REPORT],
  ['cluster|bumpepoch', [VARYING]],
  ['cluster|count-failure-reports', [VARYING]],
  ['cluster|getkeysinslot', [VARYING]],
  ['cluster|info', [VARYING]],
  ['cluster|links', [VARYING]],
  ['cluster|myshardid', [VARYING]],
  ['cluster|nodes', [VARYING]],
  ['cluster|replicas', [VARYING]],
  ['cluster|shards', [VARYING]],
  ['cluster|slaves', [VARYING]],
  ['cluster|slots', [VARYING]],
])

const NONE: readonly string[] = []

/**
 * What COMMAND INFO says to cluster clients about a command: to which nodes it goes, what becomes of their answers, and
 * whether equal calls answer the same.
 *
 * @param name `ping`, `client|list`. A command without tips has the empty list.
 */
export function commandTips(name: string): readonly string[] {
  return TIPS.get(name) ?? NONE
}
