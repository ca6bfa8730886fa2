import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { RespcastError } from '../errors.ts'
import type { Config } from './store.ts'

/**
 * Descriptors that are no connections of peers: the runtime's own (22 with Node 20), listeners, files, logs, fetches of key sets,
 * and peers that are just being refused.
 */
const RESERVED_FILES = 64

/** With fewer the server does not start. The runtime needs about 100 to load its modules. */
const LEAST_FILES = 128

/** Places that the administrators' listener has beyond `maxclients`. */
export const ADMIN_PLACES = 16

/** Handshakes of TLS on a RESP listener that may be under way. */
const TLS_HANDSHAKES = 128

/** Connections whose PROXY header may be awaited in any case, of {@link RESERVED_FILES}. */
const LEAST_WAITING = 16

/** Largest share of the descriptors that something may take: one of so many. */
const HTTP_SHARE = 8
const SMALL_SHARE = 16

/** A connection over HTTP may hold the file that it is sent as well. */
const FILES_PER_HTTP_CONNECTION = 2

/** What a limit of open files allows. */
export interface FilesBudget {
  readonly maxClients: number
  readonly httpConnections: number
  readonly adminConnections: number
}

/** Numbers that are wanted. */
interface Wanted {
  readonly httpConnections: number
  readonly adminConnections: number
  readonly usesTls: boolean
}

/**
 * Splits the descriptors of a process: HTTP connections are bounded by a share of them, and clients get the rest.
 *
 * @param files The limit of open files.
 */
export function filesBudget(files: number, wanted: Wanted): FilesBudget {
  const free = files - RESERVED_FILES
  const share = (most: number, part: number): number =>
    Math.max(1, Math.min(most, Math.floor(free / part)))
  const httpConnections = share(wanted.httpConnections, HTTP_SHARE)
  const adminConnections = share(wanted.adminConnections, SMALL_SHARE)
  const others =
    (httpConnections + adminConnections) * FILES_PER_HTTP_CONNECTION +
    ADMIN_PLACES +
    (wanted.usesTls ? share(TLS_HANDSHAKES, SMALL_SHARE) : 0)
  return { maxClients: Math.max(1, free - others), httpConnections, adminConnections }
}

/** Limit of open files of this process; undefined where it is not known or there is none. The runtime has raised it as far as it may. */
export function openFilesLimit(): number | undefined {
  return parseLimit(readLimits())
}

function readLimits(): string {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? ''
  } catch {
    // Not Linux, or without /proc: a shell has the limit of its parent.
  }
  try {
    return execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'latin1' })
  } catch {
    return ''
  }
}

function parseLimit(text: string): number | undefined {
  const limit = Number(text.trim() || 'none')
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined
}

/**
 * Lowers `maxclients` and the limits of HTTP connections to what the limit of open files allows, as Redis does at start. From then
 * on CONFIG SET refuses more.
 *
 * @returns A line for the log if `maxclients` was lowered.
 * @throws RespcastError `ERR_CONFIG`: too few to start.
 */
export function fitOpenFiles(config: Config, files: number): string | undefined {
  if (files < LEAST_FILES) {
    throw new RespcastError(
      'ERR_CONFIG',
      `maxclients: the limit of open files ('ulimit -n') is ${files}, which is not enough to start. Increase it to at least ${LEAST_FILES}.`,
    )
  }
  const wanted = config.integer('maxclients')
  const needed = filesNeeded(config)
  const { maxClients, httpConnections, adminConnections } = filesBudget(files, {
    httpConnections: config.integer('http-max-connections'),
    adminConnections: config.integer('admin-max-connections'),
    usesTls: config.integer('tls-port') > 0,
  })
  config.bound(
    'http-max-connections',
    httpConnections,
    `the limit of open files allows ${httpConnections}`,
  )
  config.bound(
    'admin-max-connections',
    adminConnections,
    `the limit of open files allows ${adminConnections}`,
  )
  const refusal = `The operating system is not able to handle the specified number of clients, try with ${maxClients}`
  if (!config.bound('maxclients', maxClients, refusal)) return undefined
  return (
    `You requested maxclients of ${wanted} requiring at least ${needed} max file descriptors. Current maximum open files is ` +
    `${files}. maxclients has been reduced to ${maxClients} to compensate for low ulimit. If you need higher maxclients ` +
    "increase 'ulimit -n'."
  )
}

/** Handshakes of TLS on a RESP listener that may be under way, where so many clients may be connected. */
export function mostHandshakes(maxClients: number): number {
  return Math.min(TLS_HANDSHAKES, Math.ceil(maxClients / SMALL_SHARE))
}

/** Connections of proxies whose header may be awaited: as many as could become clients. @param sockets Those of clients. */
export function mostWaitingHeaders(maxClients: number, sockets: number): number {
  return Math.max(LEAST_WAITING, maxClients - sockets)
}

/** Descriptors that a server with this configuration may need. */
export function filesNeeded(config: Config): number {
  const http = config.integer('http-max-connections') + config.integer('admin-max-connections')
  return (
    config.integer('maxclients') +
    http * FILES_PER_HTTP_CONNECTION +
    RESERVED_FILES +
    ADMIN_PLACES +
    (config.integer('tls-port') > 0 ? TLS_HANDSHAKES : 0)
  )
}
