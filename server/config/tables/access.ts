import { AT_START, LONG_MAX, boolean, choice, integer, lines, string } from '../spec.ts'

/** Users, passwords and the rights of administrators. */
export const ACL = {
  requirepass: string('', 'Password of the default user; empty is none.', { sensitive: true }),
  aclfile: string(
    '',
    'File that holds the users; then no `user` line may stand in the configuration.',
    AT_START,
  ),
  user: lines('A user: name and ACL rules, as `ACL SETUSER` takes them.', {
    ...AT_START,
    sensitive: true,
    fileOnly: true,
    check: (words) => (words.length === 0 ? 'wrong number of arguments' : undefined),
  }),
  'acl-pubsub-default': choice(
    'resetchannels',
    ['allchannels', 'resetchannels'],
    'Channels of a new user: all or none. Token sessions are new users too.',
  ),
  'acl-autosave': boolean(
    'yes',
    'Write `aclfile`, where it is set, after each change of a role or ceiling.',
  ),
  'acllog-max-len': integer(128, [0, LONG_MAX], 'Entries that ACL LOG keeps.', { unit: 'entries' }),
  'enable-protected-configs': choice(
    'no',
    ['no', 'yes', 'local'],
    'Who may CONFIG SET protected directives.',
    AT_START,
  ),
  'rename-command': lines('Gives a command another name; an empty new name removes it.', {
    ...AT_START,
    fileOnly: true,
    check: (words) => (words.length === 2 ? undefined : 'wrong number of arguments'),
  }),
}
