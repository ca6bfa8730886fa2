import type { Category } from '../../acl/categories.ts'
import { helpSpec } from '../help.ts'
import type { CommandSpec } from '../spec.ts'

const CATEGORIES: readonly Category[] = ['slow', 'connection']

/** CLIENT HELP. */
export const CLIENT_HELP: CommandSpec = helpSpec('client', 'connection', '5.0.0', CATEGORIES, [
  ['CACHING (YES|NO)', 'Has no effect: there are no keys to be cached.'],
  ['GETNAME', 'Answers the name of this connection.'],
  ['GETREDIR', 'Answers the id of the client that invalidations would go to.'],
  ['ID', 'Answers the id of this connection.'],
  ['INFO', 'Describes this connection.'],
  ['KILL <ip:port>', 'Closes the connection from ip:port.'],
  [
    'KILL <option> <value> [<option> <value> [...]]',
    'Closes connections. Options are:',
    '* ADDR (<ip:port>|<unixsocket>:0)',
    '  The address the connection comes from.',
    '* LADDR (<ip:port>|<unixsocket>:0)',
    '  The address it comes to.',
    '* TYPE (NORMAL|MASTER|REPLICA|PUBSUB)',
    '* USER <username>',
    '* SKIPME (YES|NO)',
    '  Whether this connection is spared (default: yes).',
    '* ID <client-id>',
    '* MAXAGE <seconds>',
    '  Connections at least this old.',
    '* JWT-SUB <sub>, JWT-JTI <jti>, JWT-ISS <iss>',
    '  Token sessions, by a claim of their token.',
    '* TRANSPORT (TCP|TLS|UNIX|WEBSOCKET)',
  ],
  [
    'LIST [options ...]',
    'Describes connections. Options are:',
    '* TYPE (NORMAL|MASTER|REPLICA|PUBSUB)',
    '* ID <client-id> [<client-id> ...]',
  ],
  ['NO-EVICT (ON|OFF)', 'Exempts this connection from eviction.'],
  ['NO-TOUCH (ON|OFF)', 'Has no effect: there are no keys.'],
  [
    'PAUSE <timeout> [WRITE|ALL]',
    'Lets commands wait for so many milliseconds: those that publish, or all (default).',
  ],
  ['REPLY (ON|OFF|SKIP)', 'Switches replies off and on; pushes keep coming.'],
  ['SETINFO (LIB-NAME|LIB-VER) <value>', 'Tells the name or the version of the client library.'],
  ['SETNAME <name>', 'Names this connection.'],
  [
    'TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]',
    'Is kept, without effect: no key ever changes.',
  ],
  ['TRACKINGINFO', 'Answers what CLIENT TRACKING was told.'],
  ['UNBLOCK <client-id> [TIMEOUT|ERROR]', 'Answers 0: no command blocks.'],
  ['UNPAUSE', 'Ends the wait of CLIENT PAUSE.'],
])
