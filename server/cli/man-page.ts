import { SECTIONS, takesEffect } from '../config/directives.ts'
import type { Spec } from '../config/spec.ts'
import { RESPCAST_VERSION } from '../version.ts'
import { COMMANDS } from './completions.ts'

/**
 * The manual page respcast(1) in the language of man(7), made from the tables of commands and directives.
 *
 * @see https://man7.org/linux/man-pages/man7/man.7.html
 */
export function manPage(): string {
  return [
    `.TH RESPCAST 1 "" "respcast ${RESPCAST_VERSION}" "Respcast"`,
    '.SH NAME',
    'respcast \\- Redis Pub/Sub that browsers can join',
    '.SH SYNOPSIS',
    '.B respcast',
    '[\\fIfile\\fR] [\\fB\\-\\-\\fIdirective value\\fR ...]',
    '.br',
    '.B respcast \\-\\-check',
    '[\\fB\\-\\-strict\\fR] [\\fIfile\\fR] [\\fB\\-\\-\\fIdirective value\\fR ...]',
    '.SH DESCRIPTION',
    'Serves RESP2 and RESP3 over TCP, and RESP3 over WebSocket, with one access control list for both.',
    'Without a file, and without a directive that says who may come in, it runs the development profile on the loopback interface.',
    '.PP',
    'A directive stands in the file as \\fIname value\\fR (the syntax of redis.conf), in the environment as',
    '\\fBRESPCAST_CONF_\\fINAME\\fR, and on the command line as \\fB\\-\\-\\fIname value\\fR; what comes later in this list wins.',
    '.SH COMMANDS',
    ...COMMANDS.flatMap(([name, text]) => ['.TP', `.B ${escaped(name)}`, escaped(text)]),
    '.SH DIRECTIVES',
    ...SECTIONS.flatMap(({ title, table }) => section(title, Object.entries<Spec>(table))),
    '.SH SIGNALS',
    '.TP',
    '.B SIGTERM, SIGINT',
    'Drain, then end; a second one ends at once.',
    '.TP',
    '.B SIGHUP',
    'Read the file, the keys and the certificates again.',
    '.SH SEE ALSO',
    '.BR redis-cli (1),',
    '.BR valkey-cli (1)',
    '',
  ].join('\n')
}

/** Directives of a section that have an effect; nothing if there is none. */
function section(title: string, entries: readonly [string, Spec][]): string[] {
  const shown = entries.filter(([, spec]) => takesEffect(spec))
  if (shown.length === 0) return []
  return [
    `.SS ${escaped(title)}`,
    ...shown.flatMap(([name, spec]) => [
      '.TP',
      `.B ${escaped(name)}${spec.default === '' ? '' : ` \\fR(${escaped(spec.default)})`}`,
      escaped(spec.text.replaceAll('`', '')),
    ]),
  ]
}

/** Text that holds no request: no line begins with a control character, and a hyphen is a hyphen. */
function escaped(text: string): string {
  const safe = text.replaceAll('\\', '\\e').replaceAll('-', '\\-')
  return /^[.']/.test(safe) ? `\\&${safe}` : safe
}
