import type { Client, Tracking } from '../../client/client.ts'
import { encodePush } from '../../resp/push.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext, Services } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import { writeBulks, writeField } from '../replies.ts'
import { nameTooLong, parseInteger } from '../arguments.ts'
import { errorLine, type ErrorLine } from '../../resp/reply-writer.ts'

/** Options of CLIENT TRACKING ON|OFF. */
interface Options {
  redirect: number
  broadcast: boolean
  optIn: boolean
  optOut: boolean
  noLoop: boolean
  readonly prefixes: string[]
}

function readOptions(client: Client, request: Request, { clients }: Services): Options | ErrorLine {
  const options: Options = {
    redirect: 0,
    broadcast: false,
    optIn: false,
    optOut: false,
    noLoop: false,
    prefixes: [],
  }
  for (let i = 3; i < request.count; i++) {
    const word = request.text(i).toLowerCase()
    const hasMore = i + 1 < request.count
    if (word === 'redirect' && hasMore) {
      if (options.redirect !== 0) {
        return 'ERR A client can only redirect to a single other client'
      }
      const id = parseInteger(request.text(++i))
      if (id === undefined) return NOT_AN_INTEGER
      if (!clients.get(id)) return 'ERR The client ID you want redirect to does not exist'
      options.redirect = id
    } else if (word === 'prefix' && hasMore) {
      const prefix = request.text(++i)
      const error = nameTooLong(client, prefix)
      if (error !== undefined) return error
      options.prefixes.push(prefix)
    } else if (word === 'bcast') options.broadcast = true
    else if (word === 'optin') options.optIn = true
    else if (word === 'optout') options.optOut = true
    else if (word === 'noloop') options.noLoop = true
    else return SYNTAX_ERROR
  }
  const most = client.limits.maxNamesPerCommand
  if (options.prefixes.length + (client.tracking?.prefixes.length ?? 0) > most) {
    return `ERR at most ${most} prefixes are allowed on this connection`
  }
  return options
}

/** The error line if these options exclude each other, or those in force. */
function conflict(options: Options, current: Tracking | undefined): ErrorLine | undefined {
  const { broadcast, optIn, optOut, prefixes } = options
  if (!broadcast && prefixes.length > 0) {
    return 'ERR PREFIX option requires BCAST mode to be enabled'
  }
  if (current && current.broadcast !== broadcast) return mustSwitchOff('BCAST mode on/off')
  if (broadcast && (optIn || optOut)) {
    return 'ERR OPTIN and OPTOUT are not compatible with BCAST'
  }
  if (optIn && optOut) return "ERR You can't specify both OPTIN mode and OPTOUT mode"
  if ((optIn && current?.mode === 'optout') || (optOut && current?.mode === 'optin')) {
    return mustSwitchOff('OPTIN/OPTOUT mode')
  }
  return broadcast ? overlap(prefixes, current?.prefixes ?? []) : undefined
}

function mustSwitchOff(what: string): ErrorLine {
  return errorLine(
    'ERR',
    `You can't switch ${what} before disabling tracking for this client, and then re-enabling it with ` +
      'a different mode.',
  )
}

function overlap(added: readonly string[], held: readonly string[]): ErrorLine | undefined {
  for (const [index, prefix] of added.entries()) {
    const existing = held.find((each) => overlaps(each, prefix))
    if (existing !== undefined) return overlapError(prefix, 'an existing', existing)
    const later = added.slice(index + 1).find((each) => overlaps(each, prefix))
    if (later !== undefined) return overlapError(prefix, 'another provided', later)
  }
  return undefined
}

function overlaps(a: string, b: string): boolean {
  return a.startsWith(b) || b.startsWith(a)
}

function overlapError(prefix: string, kind: string, other: string): ErrorLine {
  return errorLine(
    'ERR',
    `Prefix '${prefix}' overlaps with ${kind} prefix '${other}'. ` +
      'Prefixes for a single client must not overlap.',
  )
}

/** CLIENT TRACKING: its options are kept and shown, and have no effect, since no key ever changes. */
export function tracking({ client, reply, server }: CommandContext, request: Request): void {
  const options = readOptions(client, request, server)
  if (typeof options === 'string') {
    reply.error(options)
    return
  }
  const word = request.text(2).toLowerCase()
  if (word === 'off') {
    client.tracking = undefined
    reply.ok()
    return
  }
  const error = word === 'on' ? conflict(options, client.tracking) : SYNTAX_ERROR
  if (error !== undefined) {
    reply.error(error)
    return
  }
  client.tracking = newTracking(options, client.tracking)
  reply.ok()
}

function newTracking(options: Options, current: Tracking | undefined): Tracking {
  const { broadcast, optIn, optOut, noLoop, redirect } = options
  // Broadcasting without a prefix is broadcasting of every name: the empty prefix.
  const added = broadcast && options.prefixes.length === 0 ? [''] : options.prefixes
  const prefixes = new Set([...(current?.prefixes ?? []), ...added])
  return {
    broadcast,
    mode: optIn ? 'optin' : optOut ? 'optout' : undefined,
    noLoop,
    redirect,
    prefixes: [...prefixes].toSorted((a, b) => (a < b ? -1 : 1)),
    cachingAt: undefined,
    isBroken: false,
  }
}

/** CLIENT CACHING YES|NO. */
export function caching({ client, reply }: CommandContext, request: Request): void {
  const state = client.tracking
  const word = request.text(2).toLowerCase()
  if (state === undefined) {
    reply.error(
      'ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled',
    )
  } else if (word === 'yes' && state.mode !== 'optin') {
    reply.error('ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.')
  } else if (word === 'no' && state.mode !== 'optout') {
    reply.error('ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.')
  } else if (word !== 'yes' && word !== 'no') {
    reply.error(SYNTAX_ERROR)
  } else {
    state.cachingAt = client.commands
    reply.ok()
  }
}

/** CLIENT TRACKINGINFO. */
export function trackingInfo({ client, reply, server }: CommandContext): void {
  noteRedirect(client, server)
  const state = client.tracking
  const flags = state ? flagWords(client, state) : ['off']
  reply.map(3)
  reply.bulk('flags')
  reply.set(flags.length)
  for (const flag of flags) reply.bulk(flag)
  writeField(reply, 'redirect', state?.redirect ?? -1)
  reply.bulk('prefixes')
  writeBulks(reply, state?.prefixes ?? [])
}

function flagWords(client: Client, state: Tracking): string[] {
  const flags = ['on']
  if (state.broadcast) flags.push('bcast')
  if (state.mode) flags.push(state.mode)
  if (state.cachingAt === client.commands - 1) {
    // Showing the flag does not consume it.
    state.cachingAt = client.commands
    flags.push(state.mode === 'optin' ? 'caching-yes' : 'caching-no')
  }
  if (state.noLoop) flags.push('noloop')
  if (state.isBroken) flags.push('broken_redirect')
  return flags
}

/**
 * Tells a client with CLIENT TRACKING, or the one that it redirects to, that all keys may have changed. In RESP2 only a
 * subscriber that is redirected to is told, on the channel `__redis__:invalidate`.
 */
export function invalidateAll(client: Client, server: Services, state: Tracking): void {
  noteRedirect(client, server)
  if (state.isBroken) {
    if (client.protocol === 3) {
      client.output.push(encodePush(3, ['tracking-redir-broken', state.redirect]))
    }
    return
  }
  const receiver = state.redirect === 0 ? client : server.clients.get(state.redirect)
  if (!receiver) return
  if (receiver.protocol === 3) {
    receiver.output.push(encodePush(3, ['invalidate', null]))
  } else if (state.redirect !== 0 && receiver.subscriptions.any) {
    receiver.output.push(encodePush(2, ['message', '__redis__:invalidate', null]))
  }
}

/** Marks a client whose redirection target is gone: flag `R` of CLIENT LIST. */
export function noteRedirect(client: Client, { clients }: Services): void {
  const state = client.tracking
  if (state && state.redirect !== 0) state.isBroken = !clients.get(state.redirect)
}
