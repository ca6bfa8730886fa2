import type { AclFile } from '../acl/file.ts'
import type { AclLog } from '../acl/log.ts'
import type { SharedUsers } from '../acl/shared-users.ts'
import type { UserTable } from '../acl/users.ts'
import type { Client } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import type { Drain } from '../client/drain.ts'
import type { Login } from '../client/login.ts'
import type { OutputGuard } from '../client/output-limits.ts'
import type { Clock } from '../clock.ts'
import type { ConfigFile } from '../config/rewrite.ts'
import type { Config } from '../config/store.ts'
import type { Control } from '../control/control.ts'
import type { Logger, PeerLog } from '../log.ts'
import type { Registry } from '../pubsub/registry.ts'
import type { ReplyWriter } from '../resp/reply-writer.ts'
import type { AuditLog } from '../token/revoke/audit.ts'
import type { SharedRevocations } from '../token/revoke/shared-revocations.ts'
import type { TokenExplainer } from '../token/explain/explain.ts'
import type { TokenSessions } from '../token/session/sessions.ts'
import type { Backplane } from '../upstream/backplane.ts'
import type { ClusterView } from './cluster/view.ts'
import type { Counters } from './counters.ts'
import type { PreparedTransaction } from './prepare.ts'
import type { LatencyMonitor } from './diagnostics/latency.ts'
import type { LoadSampler } from './server/load-sampler.ts'
import type { ProcessFacts } from './server/process-facts.ts'
import type { MonitorFeed } from './diagnostics/monitor.ts'
import type { Pause } from './client/pause.ts'
import type { SlowLog } from './diagnostics/slowlog.ts'
import type { Command, CommandTable } from './table.ts'
import type { Completion } from './spec.ts'
import type { QueuedCommand } from './transaction.ts'

/** The context of a command: the client that sent it, the writer of its reply, and the server. */
export interface CommandContext {
  readonly client: Client
  /** The command that runs; within EXEC the one of its turn. */
  readonly command: Command
  readonly reply: ReplyWriter
  readonly server: Services
  /** The command runs within EXEC. */
  readonly inTransaction: boolean
  /** What the upstream has answered before the transaction runs; undefined outside of EXEC, and without an upstream. */
  readonly prepared: PreparedTransaction | undefined
  /** Writes a reply that comes later, once the command is over, for `Output.fill`. */
  readonly laterReply: ReplyWriter
  /** Set by commands whose reply is a push, which CLIENT REPLY does not silence. */
  repliedByPush: boolean
  /** Executes the commands of a transaction, and writes their replies: later, where some wait for the disk. */
  readonly runTransaction: (queue: readonly QueuedCommand[]) => Promise<Completion> | undefined
}

/** The parts of the core that commands use. */
export interface Services {
  readonly clock: Clock
  readonly log: Logger
  /** For lines that a peer can cause. */
  readonly peerLog: PeerLog
  readonly table: CommandTable
  readonly clients: ClientTable
  readonly guard: OutputGuard
  readonly registry: Registry
  readonly backplane: Backplane
  /** What gateways agree on. */
  readonly control: Control
  readonly users: UserTable
  /** Users as gateways share them. */
  readonly sharedUsers: SharedUsers
  readonly aclLog: AclLog
  readonly tokens: TokenSessions
  readonly login: Login
  readonly explainer: TokenExplainer
  /** Revocations as gateways share them. */
  readonly sharedRevocations: Pick<SharedRevocations, 'changeOf'>
  /** Revocations by administrators. */
  readonly audit: Pick<AuditLog, 'recent'>
  readonly counters: Counters
  readonly pause: Pause
  readonly monitors: MonitorFeed
  readonly slowLog: SlowLog
  readonly latency: LatencyMonitor
  readonly load: LoadSampler
  /** Undefined unless `cluster-enabled` is set. */
  readonly cluster: ClusterView | undefined
  readonly config: Config
  readonly aclFile: AclFile
  readonly facts: ProcessFacts
  readonly drain: Drain
  /** Ends the server at once, in good order (SHUTDOWN). */
  readonly shutdown: () => void
  readonly configFile: ConfigFile
}
