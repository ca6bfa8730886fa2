import * as arg from '../argument.ts'
import { keySlot, SLOT_COUNT } from '../../../shared/key-slot.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger } from '../arguments.ts'
import { CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { CLUSTER_DISABLED, NOT_AN_INTEGER } from '../error-texts.ts'
import type { CommandData, CommandRecord, Handler } from '../spec.ts'
import { clusterInfoText, nodesText, writeShards, writeSlots, type ClusterView } from './view.ts'

/** A handler that needs `cluster-enabled`. */
function inCluster(
  handle: (context: CommandContext, view: ClusterView, request: Request) => ReturnType<Handler>,
): Handler {
  return (context, request) => {
    const { cluster: view } = context.server
    return view ? handle(context, view, request) : context.reply.error(CLUSTER_DISABLED)
  }
}

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

/** Answers a question about a node: there is only this one. */
function aboutNode(answer: (context: CommandContext) => void): Handler {
  return inCluster((context, { nodeId }, request) => {
    const name = request.text(2)
    if (name.toLowerCase() === nodeId) answer(context)
    else context.reply.error(`ERR Unknown node ${name}`)
  })
}

const noReplicas = aboutNode(({ reply }) => reply.array(0))

const OPEN = {
  flags: ['stale'],
  categories: ['slow'],
  group: 'cluster',
  since: '3.0.0',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

const ADMIN = {
  ...OPEN,
  flags: ['admin', 'stale'],
  categories: ['admin', 'slow', 'dangerous'],
} as const satisfies Partial<CommandData>

/** A subcommand of administrators that has no use for a single node that owns all slots. */
const REFUSED = {
  ...ADMIN,
  flags: ['admin', 'stale', 'no_async_loading'],
  summary: 'Is refused: the cluster has one node only.',
  help: [],
  handler: inCluster(({ reply }, _view, request) => {
    const name = request.text(1).toUpperCase()
    reply.error(
      `ERR CLUSTER ${name} is not supported: this server is a cluster of one node that owns all slots`,
    )
  }),
} as const satisfies Partial<CommandData>

const help = helpOf('cluster', '5.0.0')

/** CLUSTER and its subcommands, for a cluster of one node. */
export const cluster: CommandData = {
  ...CONTAINER,
  group: 'cluster',
  since: '3.0.0',
  summary: 'Container of the commands about the cluster.',
  subcommands: {
    addslots: {
      ...REFUSED,
      arity: -3,
      syntax: '<slot> [<slot> ...]',
      arguments: [arg.integer('slot', { multiple: true })],
    },
    addslotsrange: {
      ...REFUSED,
      arity: -4,
      since: '7.0.0',
      syntax: '<start> <end> [<start> <end> ...]',
      arguments: [
        arg.block('range', [arg.integer('start-slot'), arg.integer('end-slot')], {
          multiple: true,
        }),
      ],
    },
    bumpepoch: { ...REFUSED, arity: 2, tips: ['nondeterministic_output'] },
    'count-failure-reports': {
      ...ADMIN,
      arity: 3,
      syntax: '<node-id>',
      arguments: [arg.string('node-id')],
      summary: 'Answers 0: nobody watches.',
      help: [],
      tips: ['nondeterministic_output'],
      handler: aboutNode(({ reply }) => reply.integer(0)),
    },
    countkeysinslot: {
      ...OPEN,
      arity: 3,
      syntax: '<slot>',
      arguments: [arg.integer('slot')],
      summary: 'Answers 0: there are no keys.',
      handler: inCluster(countKeysInSlot),
    },
    delslots: {
      ...REFUSED,
      arity: -3,
      syntax: '<slot> [<slot> ...]',
      arguments: [arg.integer('slot', { multiple: true })],
    },
    delslotsrange: {
      ...REFUSED,
      arity: -4,
      since: '7.0.0',
      syntax: '<start> <end> [<start> <end> ...]',
      arguments: [
        arg.block('range', [arg.integer('start-slot'), arg.integer('end-slot')], {
          multiple: true,
        }),
      ],
    },
    failover: {
      ...REFUSED,
      arity: -2,
      syntax: '[FORCE|TAKEOVER]',
      arguments: [arg.oneOf('options', arg.words('FORCE TAKEOVER'), { optional: true })],
    },
    flushslots: { ...REFUSED, arity: 2 },
    forget: { ...REFUSED, arity: 3, syntax: '<node-id>', arguments: [arg.string('node-id')] },
    getkeysinslot: {
      ...OPEN,
      arity: 4,
      syntax: '<slot> <count>',
      arguments: [arg.integer('slot'), arg.integer('count')],
      summary: 'Answers no names: there are no keys.',
      tips: ['nondeterministic_output'],
      handler: inCluster(getKeysInSlot),
    },
    help: {
      ...help,
      group: 'cluster',
      handler: inCluster((context, _view, request) => help.handler(context, request)),
    },
    info: {
      ...OPEN,
      arity: 2,
      summary: 'Answers the state of the cluster.',
      tips: ['nondeterministic_output'],
      handler: inCluster(({ reply }) => reply.verbatim(clusterInfoText())),
    },
    keyslot: {
      ...OPEN,
      arity: 3,
      syntax: '<name>',
      arguments: [arg.string('key')],
      summary: 'Answers the slot of a name.',
      help: ['Answers the slot of a shard channel.'],
      handler: inCluster(({ reply }, _view, request) => reply.integer(keySlot(request.text(2)))),
    },
    links: {
      ...OPEN,
      arity: 2,
      since: '7.0.0',
      summary: 'Answers no links: there is one node.',
      tips: ['nondeterministic_output'],
      handler: inCluster(({ reply }) => reply.array(0)),
    },
    meet: {
      ...REFUSED,
      arity: -4,
      syntax: '<ip> <port> [<bus-port>]',
      history: [['4.0.0', 'The port of the cluster bus.']],
      arguments: [
        arg.string('ip'),
        arg.integer('port'),
        arg.integer('cluster-bus-port', { since: '4.0.0', optional: true }),
      ],
    },
    myid: {
      ...OPEN,
      arity: 2,
      summary: 'Answers the id of this node.',
      handler: inCluster(({ reply }, { nodeId }) => reply.bulk(nodeId)),
    },
    myshardid: {
      ...OPEN,
      arity: 2,
      since: '7.2.0',
      summary: 'Answers the id of its shard.',
      help: ['Answers the id of the shard of this node.'],
      tips: ['nondeterministic_output'],
      handler: inCluster(({ reply }, { shardId }) => reply.bulk(shardId)),
    },
    nodes: {
      ...OPEN,
      arity: 2,
      summary: 'Describes the nodes.',
      help: [
        'Answers a line for the one node:',
        '<id> <ip:port@bus-port[,hostname]> <flags> <master> <pings> <pongs> <epoch> <link> <slots>',
      ],
      tips: ['nondeterministic_output'],
      handler: inCluster(({ client, reply }, view) => reply.verbatim(nodesText(view, client))),
    },
    replicas: {
      ...ADMIN,
      arity: 3,
      since: '5.0.0',
      syntax: '<node-id>',
      arguments: [arg.string('node-id')],
      summary: 'Answers no replicas.',
      tips: ['nondeterministic_output'],
      handler: noReplicas,
    },
    replicate: { ...REFUSED, arity: 3, syntax: '<node-id>', arguments: [arg.string('node-id')] },
    reset: {
      ...REFUSED,
      arity: -2,
      flags: ['admin', 'noscript', 'stale'],
      syntax: '[HARD|SOFT]',
      arguments: [arg.oneOf('reset-type', arg.words('HARD SOFT'), { optional: true })],
    },
    saveconfig: { ...REFUSED, arity: 2 },
    'set-config-epoch': {
      ...REFUSED,
      arity: 3,
      syntax: '<epoch>',
      arguments: [arg.integer('config-epoch')],
    },
    setslot: {
      ...REFUSED,
      arity: -4,
      syntax: '<slot> (IMPORTING|MIGRATING|NODE|STABLE) [<node-id>]',
      arguments: [
        arg.integer('slot'),
        arg.oneOf('subcommand', [
          arg.string('importing', { token: 'IMPORTING', shown: 'node-id' }),
          arg.string('migrating', { token: 'MIGRATING', shown: 'node-id' }),
          arg.string('node', { token: 'NODE', shown: 'node-id' }),
          arg.word('STABLE'),
        ]),
      ],
    },
    shards: {
      ...OPEN,
      arity: 2,
      flags: ['loading', 'stale'],
      since: '7.0.0',
      summary: 'Describes the shards.',
      help: ['Answers the one shard, its slots and its node.'],
      tips: ['nondeterministic_output'],
      handler: inCluster(({ client, reply }, view) => writeShards(reply, view, client)),
    },
    slaves: {
      ...ADMIN,
      arity: 3,
      syntax: '<node-id>',
      arguments: [arg.string('node-id')],
      deprecated: { since: '5.0.0', replacedBy: '`CLUSTER REPLICAS`' },
      summary: 'Answers no replicas; see REPLICAS.',
      help: [],
      tips: ['nondeterministic_output'],
      handler: noReplicas,
    },
    slots: {
      ...OPEN,
      arity: 2,
      flags: ['loading', 'stale'],
      deprecated: { since: '7.0.0', replacedBy: '`CLUSTER SHARDS`' },
      history: [
        ['4.0.0', 'Ids of nodes.'],
        ['7.0.0', 'Further addresses of nodes.'],
      ],
      summary: 'Says who owns which slots.',
      help: ['Answers the one range of slots and its node.'],
      tips: ['nondeterministic_output'],
      handler: inCluster(({ client, reply }, view) => writeSlots(reply, view, client)),
    },
  },
}

/** Sets the mode that CLIENT LIST shows; this node answers reads in any mode. */
function readOnly(value: boolean): Handler {
  return inCluster(({ client, reply }) => {
    client.readOnly = value
    reply.ok()
  })
}

const MODE = {
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  categories: ['fast', 'connection'],
  group: 'cluster',
  since: '3.0.0',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

/** Commands that cluster clients send when they connect or follow a redirection. */
export const CLUSTER_MODES: CommandRecord = {
  readonly: {
    ...MODE,
    summary: 'Allows what a replica would have to be asked for.',
    handler: readOnly(true),
  },
  readwrite: { ...MODE, summary: 'Undoes READONLY.', handler: readOnly(false) },
  asking: {
    ...MODE,
    flags: ['fast'],
    summary: 'Has no effect: no slot is ever on its way.',
    handler: inCluster(({ reply }) => reply.ok()),
  },
}
