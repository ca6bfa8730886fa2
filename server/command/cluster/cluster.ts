import { keySlot, SLOT_COUNT } from '../../../shared/key-slot.ts'
import type { Category } from '../../acl/categories.ts'
import type { Request } from '../../resp/request.ts'
import { clusterInfoText, nodesText, writeShards, writeSlots, type ClusterView } from './view.ts'
import type { CommandContext } from '../context.ts'
import { CLUSTER_DISABLED, NOT_AN_INTEGER } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import type { CommandFlag, CommandSpec, Handler } from '../spec.ts'

type InCluster = (context: CommandContext, view: ClusterView, request: Request) => void

/** A handler that has to have a cluster. */
function inCluster(handle: InCluster): Handler {
  return (context, request) => {
    const { cluster } = context.server
    if (cluster) handle(context, cluster, request)
    else context.reply.error(CLUSTER_DISABLED)
  }
}

const OPEN: readonly CommandFlag[] = ['stale']
const LOADING: readonly CommandFlag[] = ['loading', 'stale']
const ADMIN: readonly CommandFlag[] = ['admin', 'stale']
const CHANGES_SLOTS: readonly CommandFlag[] = ['admin', 'stale', 'no_async_loading']
const RESETS: readonly CommandFlag[] = ['admin', 'noscript', 'stale']

const OPEN_CATEGORIES: readonly Category[] = ['slow']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

function countKeysInSlot({ reply }: CommandContext, _view: ClusterView, request: Request): void {
  const slot = parseInteger(request.text(2))
  if (slot === undefined) reply.error(NOT_AN_INTEGER)
  else if (slot < 0 || slot >= SLOT_COUNT) reply.error('ERR Invalid slot')
  else reply.integer(0)
}

function getKeysInSlot({ reply }: CommandContext, _view: ClusterView, request: Request): void {
  const slot = parseInteger(request.text(2))
  const most = parseInteger(request.text(3))
  if (slot === undefined || most === undefined) reply.error(NOT_AN_INTEGER)
  else if (slot < 0 || slot >= SLOT_COUNT || most < 0) {
    reply.error('ERR Invalid slot or number of keys')
  } else reply.array(0)
}

/** A question about a node, which has the same answer for the only one there is. */
function aboutNode(answer: (context: CommandContext) => void): InCluster {
  return (context, { nodeId }, request) => {
    const name = request.text(2)
    if (name.toLowerCase() === nodeId) answer(context)
    else context.reply.error(`ERR Unknown node ${name}`)
  }
}

const refused: InCluster = ({ reply }, _view, request) => {
  const name = request.text(1).toUpperCase()
  reply.error(
    `ERR CLUSTER ${name} is not supported: this server is a cluster of one node that owns all slots`,
  )
}

function sub(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  since: string,
  summary: string,
  handle: InCluster,
): CommandSpec {
  return {
    name: `cluster|${name}`,
    arity,
    flags,
    categories: flags.includes('admin') ? ADMIN_CATEGORIES : OPEN_CATEGORIES,
    group: 'cluster',
    since,
    summary,
    complexity: 'O(1)',
    handler: inCluster(handle),
  }
}

/** An administrative subcommand, for which one node that owns everything has no use. */
function never(
  name: string,
  arity: number,
  since: string,
  flags: readonly CommandFlag[] = CHANGES_SLOTS,
): CommandSpec {
  return sub(name, arity, flags, since, 'Is refused: the cluster has one node only.', refused)
}

const noReplicas = aboutNode(({ reply }) => reply.array(0))

const help = helpSpec('cluster', 'cluster', '5.0.0', OPEN_CATEGORIES, [
  ['COUNTKEYSINSLOT <slot>', 'Answers 0: there are no keys.'],
  ['GETKEYSINSLOT <slot> <count>', 'Answers no names: there are no keys.'],
  ['INFO', 'Answers the state of the cluster.'],
  ['KEYSLOT <name>', 'Answers the slot of a shard channel.'],
  ['LINKS', 'Answers no links: there is one node.'],
  ['MYID', 'Answers the id of this node.'],
  ['MYSHARDID', 'Answers the id of the shard of this node.'],
  [
    'NODES',
    'Answers a line for the one node:',
    '<id> <ip:port@bus-port[,hostname]> <flags> <master> <pings> <pongs> <epoch> <link> <slots>',
  ],
  ['REPLICAS <node-id>', 'Answers no replicas.'],
  ['SHARDS', 'Answers the one shard, its slots and its node.'],
  ['SLOTS', 'Answers the one range of slots and its node.'],
])

/** CLUSTER and its subcommands, and what cluster clients say when they connect. */
export const CLUSTER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'cluster',
    arity: -2,
    flags: [],
    categories: OPEN_CATEGORIES,
    group: 'cluster',
    since: '3.0.0',
    summary: 'Container of the commands about the cluster.',
  },
  never('addslots', -3, '3.0.0'),
  never('addslotsrange', -4, '7.0.0'),
  never('bumpepoch', 2, '3.0.0'),
  sub(
    'count-failure-reports',
    3,
    ADMIN,
    '3.0.0',
    'Answers 0: nobody watches.',
    aboutNode(({ reply }) => reply.integer(0)),
  ),
  sub('countkeysinslot', 3, OPEN, '3.0.0', 'Answers 0: there are no keys.', countKeysInSlot),
  never('delslots', -3, '3.0.0'),
  never('delslotsrange', -4, '7.0.0'),
  never('failover', -2, '3.0.0'),
  never('flushslots', 2, '3.0.0'),
  never('forget', 3, '3.0.0'),
  sub('getkeysinslot', 4, OPEN, '3.0.0', 'Answers no names: there are no keys.', getKeysInSlot),
  {
    ...help,
    handler: inCluster((context, _view, request) => {
      void help.handler?.(context, request)
    }),
  },
  sub('info', 2, OPEN, '3.0.0', 'Answers the state of the cluster.', ({ reply }) => {
    reply.verbatim(clusterInfoText())
  }),
  sub('keyslot', 3, OPEN, '3.0.0', 'Answers the slot of a name.', ({ reply }, _view, request) => {
    reply.integer(keySlot(request.text(2)))
  }),
  sub('links', 2, OPEN, '7.0.0', 'Answers no links: there is one node.', ({ reply }) => {
    reply.array(0)
  }),
  never('meet', -4, '3.0.0'),
  sub('myid', 2, OPEN, '3.0.0', 'Answers the id of this node.', ({ reply }, { nodeId }) => {
    reply.bulk(nodeId)
  }),
  sub('myshardid', 2, OPEN, '7.2.0', 'Answers the id of its shard.', ({ reply }, { shardId }) => {
    reply.bulk(shardId)
  }),
  sub('nodes', 2, OPEN, '3.0.0', 'Describes the nodes.', ({ client, reply }, view) => {
    reply.verbatim(nodesText(view, client))
  }),
  sub('replicas', 3, ADMIN, '5.0.0', 'Answers no replicas.', noReplicas),
  never('replicate', 3, '3.0.0'),
  never('reset', -2, '3.0.0', RESETS),
  never('saveconfig', 2, '3.0.0'),
  never('set-config-epoch', 3, '3.0.0'),
  never('setslot', -4, '3.0.0'),
  sub('shards', 2, LOADING, '7.0.0', 'Describes the shards.', ({ client, reply }, view) => {
    writeShards(reply, view, client)
  }),
  sub('slaves', 3, ADMIN, '3.0.0', 'Answers no replicas; see REPLICAS.', noReplicas),
  sub('slots', 2, LOADING, '3.0.0', 'Says who owns which slots.', ({ client, reply }, view) => {
    writeSlots(reply, view, client)
  }),
  mode('readonly', 'Allows what a replica would have to be asked for.', ({ client, reply }) => {
    client.readOnly = true
    reply.ok()
  }),
  mode('readwrite', 'Undoes READONLY.', ({ client, reply }) => {
    client.readOnly = false
    reply.ok()
  }),
  {
    ...mode('asking', 'Has no effect: no slot is ever on its way.', ({ reply }) => reply.ok()),
    flags: ['fast'],
  },
]

function mode(name: string, summary: string, handle: InCluster): CommandSpec {
  return {
    name,
    arity: 1,
    flags: ['loading', 'stale', 'fast'],
    categories: ['fast', 'connection'],
    group: 'cluster',
    since: '3.0.0',
    summary,
    complexity: 'O(1)',
    handler: inCluster(handle),
  }
}
