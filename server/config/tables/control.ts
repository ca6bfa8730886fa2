import { AT_START, boolean, choice, list, seconds, string } from '../spec.ts'

/** What gateways of one upstream agree on: users, revocations, kills. */
export const CONTROL = {
  'upstream-control': boolean(
    'yes',
    'Users, revocations and kills are those of all gateways of the namespace; `no`: each gateway has its own.',
    AT_START,
  ),
  'upstream-namespace': string(
    'default',
    'Gateways of one namespace share their users and revocations; letters, digits, `.`, `_` and `-`.',
    {
      ...AT_START,
      check: ([name = '']) =>
        /^[A-Za-z0-9._-]{1,64}$/.test(name)
          ? undefined
          : 'argument must be 1 to 64 letters, digits, dots, underscores or hyphens',
    },
  ),
  'node-name': string(
    '',
    'The name of this gateway among the others, for people; empty is the name of the machine and the port.',
    AT_START,
  ),
  'upstream-lease': seconds(
    10,
    'Longest time for which a gateway that is cut off goes on without knowing what the others have revoked.',
    { ...AT_START, min: 3 },
  ),
  'upstream-control-loss': choice(
    'closed',
    ['closed', 'open'],
    'What a gateway does when its lease has lapsed: it delivers nothing (`closed`), or goes on with what it knows (`open`).',
  ),
  'upstream-durability': string(
    '',
    'A change counts as durable when it is on `replicas <n>` of the upstream, or in its append-only file (`aof`) as well; empty: when it is in the log of the upstream and on the disk of a gateway.',
    {
      check: ([text = '']) =>
        /^(?:|aof|replicas [1-9]\d?)$/.test(text)
          ? undefined
          : "argument must be 'aof', 'replicas' and a number, or empty",
    },
  ),
  'upstream-local-users': list(
    '',
    'Users that this gateway does not share: they are as its own file says, also while the upstream is gone.',
    AT_START,
  ),
  'upstream-control-key-file': string(
    '',
    'A file with one or two keys, a line each, of 32 bytes or more: entries are signed with the first, and taken if signed with either. Empty: whoever may write to the upstream may order gateways.',
    AT_START,
  ),
}
