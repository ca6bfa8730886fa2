import { RespcastError } from './errors.ts'

/** Listeners that may be handed over, by the names that they have then. */
const LISTENERS = ['resp', 'http', 'admin'] as const

/** One of {@link LISTENERS}. */
export type ListenerName = (typeof LISTENERS)[number]

/** Descriptors of listening sockets, by listener. */
export type InheritedSockets = Readonly<Record<ListenerName, readonly number[]>>

/** The first descriptor that is handed over. */
const FIRST_DESCRIPTOR = 3

/**
 * Reads which listening sockets the service manager has handed over (socket activation), and removes that from the environment, so
 * that no child takes them for its own.
 *
 * @param env The environment of this process.
 * @param pid The process that they are meant for.
 * @returns Undefined if there are none.
 * @throws RespcastError `ERR_LISTEN`: one of them is for no listener.
 * @see sd_listen_fds(3)
 */
export function takeInheritedSockets(
  env: NodeJS.ProcessEnv,
  pid: number,
): InheritedSockets | undefined {
  const { LISTEN_PID: owner, LISTEN_FDS: count, LISTEN_FDNAMES: names = '' } = env
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name]
  if (owner !== String(pid) || count === undefined || !/^[1-9]\d{0,2}$/.test(count))
    return undefined
  const sockets: Record<ListenerName, number[]> = { resp: [], http: [], admin: [] }
  const named = names.split(':')
  for (let at = 0; at < Number(count); at++) {
    const listener = LISTENERS.find((name) => name === named[at])
    if (listener === undefined) {
      throw new RespcastError(
        'ERR_LISTEN',
        `the service manager has handed over a socket for '${named[at] ?? ''}'. ` +
          `Set FileDescriptorName in its .socket unit to one of ${LISTENERS.join(', ')}.`,
      )
    }
    sockets[listener].push(FIRST_DESCRIPTOR + at)
  }
  return sockets
}
