/** Effects of a change of rules on a subscriber of that user, as verified with Redis and Valkey. */
export interface KillCase {
  /** Channel rules of the user before. */
  readonly before: string
  /** The command of the connection once it has logged in; '' is none. */
  readonly subscribed: string
  /** The rules that ACL SETUSER sets then. */
  readonly change: string
  readonly result: 'alive' | 'dead'
}

/** Rows `before | subscribed | change | result`. */
const TABLE = `
&a &b          | SUBSCRIBE a b       | resetchannels &a         | dead
&a &b          | SUBSCRIBE a         | resetchannels &a         | alive
&a &b          | SUBSCRIBE a         | resetchannels &[a]       | alive
&a &b          | SUBSCRIBE b         | resetchannels &[a]       | dead
&a*            | PSUBSCRIBE a*       | resetchannels &a?        | dead
&a*            | PSUBSCRIBE a*       | resetchannels &*a*       | dead
&a*            | PSUBSCRIBE a*       | resetchannels (&a*)      | alive
&*             | PSUBSCRIBE x        | resetchannels &x         | alive
&*             | PSUBSCRIBE x*       | resetchannels &x*y       | dead
&*             | SUBSCRIBE x         | resetchannels &y         | dead
&*             | SUBSCRIBE x         | resetchannels &?         | alive
&a*            | PSUBSCRIBE a*       | allchannels              | alive
&a*            | PSUBSCRIBE a*       | resetchannels (&*)       | alive
&a*            | PSUBSCRIBE a*       | &zz                      | alive
&a &b          | SSUBSCRIBE b        | resetchannels &a         | dead
&a &b          | SSUBSCRIBE a        | resetchannels &a         | alive
&a             | SUBSCRIBE a         | off                      | alive
&a             | SUBSCRIBE a         | resetpass >x             | alive
&a             | SUBSCRIBE a         | -subscribe               | alive
&a             | SUBSCRIBE a         | -@all                    | alive
&a             | SUBSCRIBE a         | reset                    | dead
&a             |                     | resetchannels            | alive
&a             |                     | reset                    | alive
&a             | SUBSCRIBE a         | resetchannels +nocmd     | alive
&a             | SUBSCRIBE a         | resetchannels (-@all &a) | alive
&a             | SUBSCRIBE a         | resetchannels &A         | dead
(+@all &a)     | SUBSCRIBE a         | clearselectors           | dead
(+@all &a)     | SUBSCRIBE a         | clearselectors &a        | alive
&              | SUBSCRIBE ""        | resetchannels &*x        | dead
&              | SUBSCRIBE ""        | resetchannels &* -@all   | alive
&a &b &c       | SUBSCRIBE a b c     | resetchannels &[abc]     | alive
&a &b          | SUBSCRIBE a         | resetchannels &b &a      | alive
`

/** The table's rows. */
export const KILL_CASES: readonly KillCase[] = TABLE.split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [before = '', subscribed = '', change = '', result] = line
      .split('|')
      .map((cell) => cell.trim())
    return { before, subscribed, change, result: result === 'dead' ? 'dead' : 'alive' }
  })
