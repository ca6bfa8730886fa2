import { sortUnordered } from '../support/transcript-frames.ts'

/** Takes out of an answer what two equal servers would not have in common. */
export interface Normalisation {
  readonly name: string
  readonly apply: (answer: string) => string
}

/** A field of HELLO or ACL LOG: a bulk string as name, then its value. */
function field(name: string, value: string): RegExp {
  return new RegExp(String.raw`(\$${name.length}\r\n${name}\r\n)${value}\r\n`, 'g')
}

/** Fields of a line of CLIENT LIST that two equal servers have in common. */
const COMPARED_FIELDS =
  / (flags=\S+ db=\d+ sub=\d+ psub=\d+ ssub=\d+ multi=-?\d+) .*?(cmd=\S+ user=\S+) redir=\S+ (resp=\d)/

/** The normalisations, in the order in which they are applied. */
export const NORMALISATIONS: readonly Normalisation[] = [
  {
    name: 'client ids',
    apply: (answer) => answer.replace(field('id', String.raw`:\d+`), '$1<id>'),
  },
  {
    name: 'client lines',
    apply: (answer) =>
      answer.replace(/[$=]\d+\r\n(?:txt:)?(id=\d+ addr=[^\r\n]*)\n?\r\n/g, (_all, line: string) => {
        const fields = COMPARED_FIELDS.exec(line)?.slice(1).join(' ') ?? ''
        // Valkey empties the queue of a transaction that will fail.
        return `<client ${fields.replace(/multi=\d+/, 'multi=<n>')}>\r\n`
      }),
  },
  {
    name: 'times of ACL LOG',
    apply: (answer) =>
      answer
        .replace(field('age-seconds', String.raw`(?:,[\d.e-]+|\$\d+\r\n[\d.e-]+)`), '$1<age>')
        .replace(field('timestamp-created', String.raw`:\d+`), '$1<time>')
        .replace(field('timestamp-last-updated', String.raw`:\d+`), '$1<time>')
        .replace(field('entry-id', String.raw`:\d+`), '$1<entry>'),
  },
  {
    name: 'times and addresses of MONITOR',
    apply: (answer) =>
      answer
        .replace(/^\+\d+\.\d{6} \[(\d+) [^\]]+\]/gm, '+<time> [$1 <address>]')
        // Sent by the tests themselves to know that a server is quiet.
        .replace(/^\+<time> [^"]*(?:"PING"|"ECHO" "mark-\d+")\r\n/gm, ''),
  },
  { name: 'unordered sets', apply: sortUnordered },
]

/** Applies all of them. */
export function normalise(answer: string): string {
  let text = answer
  for (const { apply } of NORMALISATIONS) text = apply(text)
  return text
}
