import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** Requests as bytes: what is taken, what is refused, and that a refusal closes. */
export const PROTOCOL_SCRIPTS: readonly Transcript[] = [
  parseTranscript(
    'inline lines and arrays alternate',
    String.raw`
A! *1\r\n$4\r\nPING\r\nPING\r\n*1\r\n$4\r\nPING\r\n
A! \r\n\r\n   \r\nPING\r\n
A! PING\n
A! *0\r\n*-1\r\n*-10\r\n*1\r\n$4\r\nPING\r\n
A! $4\r\nPING\r\n
A! *2\r\n$4\r\nECHO\r\n$0\r\n\r\n
A! *1\r\n$0\r\n\r\n
A! +PING\r\n
A! %1\r\n
A! >1\r\n
`,
  ),
  parseTranscript(
    'a request may come in pieces',
    String.raw`
A! *2\r\n$4\r\nEC
A! HO\r\n$5\r
A! \nhel
A! lo\r
A! \n
A! PI
A! NG
A! \r\n
`,
  ),
  parseTranscript(
    'inline quoting',
    String.raw`
A! ECHO "a b"\r\n
A! ECHO 'a b'\r\n
A! ECHO "\\x41\\n\\r\\t\\b\\a\\q\\"\\\\"\r\n
A! ECHO "\\x4"\r\n
A! ECHO '\\x41'\r\n
A! ECHO 'it\\'s'\r\n
A! ECHO ""\r\n
A! ECHO ''\r\n
A! "PING"\r\n
A! ECHO foo"bar baz"\r\n
A! ECHO foo'bar baz'\r\n
A! \t PING \t x \r\n
A! ECHO a\x0bb\r\n
A! ECHO a\x0cb\r\n
A! ECHO \xff\xfe\r\n
A! \x0bPING\r\n
A! FOO "a" 'b' c\r\n
A! PING\r\r\n
`,
  ),
  ...refused({
    'unbalanced double quote': String.raw`PING "a\r\n`,
    'unbalanced single quote': String.raw`PING 'a\r\n`,
    'characters behind a closing double quote': String.raw`ECHO "a"b\r\n`,
    'characters behind a closing single quote': String.raw`ECHO 'a'b\r\n`,
    'a count that is no number': String.raw`*x\r\n`,
    'a count that is empty': String.raw`*\r\n`,
    'a count with a leading zero': String.raw`*01\r\n`,
    'a count with a plus': String.raw`*+1\r\n`,
    'a count with a blank': String.raw`* 1\r\n`,
    'a count beyond 2147483647': String.raw`*2147483648\r\n`,
    'a count beyond 64 bits': String.raw`*99999999999999999999\r\n`,
    'an argument that is no bulk string': String.raw`*1\r\nPING\r\n`,
    'an argument that is an integer': String.raw`*1\r\n:1\r\n`,
    'an argument that begins with a line end': String.raw`*1\r\n\r\n`,
    'a length that is no number': String.raw`*1\r\n$x\r\n`,
    'a length that is empty': String.raw`*1\r\n$\r\n`,
    'a length with a leading zero': String.raw`*1\r\n$04\r\nPING\r\n`,
    'a length with a blank': String.raw`*1\r\n$ 4\r\nPING\r\n`,
    'a negative length': String.raw`*1\r\n$-1\r\n`,
    'a length beyond proto-max-bulk-len': String.raw`*1\r\n$536870913\r\n`,
    'a bad request behind good ones': String.raw`PING\r\n*1\r\n$4\r\nPING\r\n*x\r\nPING\r\n`,
  }),
  parseTranscript(
    'line ends are looked at',
    String.raw`
A! *1\rx$4\rxPINGxx
respcast crlf-validated: -ERR Protocol error: invalid CRLF in request\r\n<EOF>
B! *1\r\n$4\r\nPINGxx
respcast crlf-validated: -ERR Protocol error: invalid CRLF in request\r\n<EOF>
`,
  ),
  parseTranscript(
    'a zero byte in a header',
    String.raw`
A! *1\x00\r\n
respcast nul-in-header: -ERR Protocol error: invalid multibulk length\r\n<EOF>
B! *1\r\n$4\x00\r\nPING\r\n
respcast nul-in-header: -ERR Protocol error: invalid bulk length\r\n<EOF>
C! PING\x00\r\n
respcast nul-in-header: -ERR Protocol error: unexpected NUL in inline request\r\n<EOF>
`,
  ),
  parseTranscript(
    'POST and Host: are cut off without an answer',
    String.raw`
A! POST / HTTP/1.1\r\n
B! Host: example\r\n
C! host: example\r\n
D: POST x
respcast cross-protocol-inline: -ERR unknown command 'POST', with args beginning with: 'x' \r\n
E! PING\r\nPOST x\r\nPING\r\n
`,
  ),
  parseTranscript(
    'limits before login',
    String.raw`
Z: CONFIG SET requirepass secret
A! *10\r\n
A! $4\r\nPING\r\n${String.raw`$1\r\na\r\n`.repeat(9)}
B! *11\r\n
C! *1\r\n$16385\r\n
D! *2\r\n$4\r\nPING\r\n$16384\r\n
D! ${'x'.repeat(16_384)}\r\n
`,
  ),
  parseTranscript(
    'lines that are too long',
    String.raw`
A! ${'a'.repeat(65_537)}
B! *${'1'.repeat(65_537)}
C! *1\r\n$${'1'.repeat(65_537)}
`,
  ),
]

function refused(cases: Readonly<Record<string, string>>): Transcript[] {
  return Object.entries(cases).map(([title, bytes]) =>
    parseTranscript(`refused: ${title}`, `A! ${bytes}\nA! PING\\r\\n\n`),
  )
}
