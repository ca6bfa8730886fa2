import { DIRECTIVES, takesEffect } from '../config/directives.ts'
import { INIT_FLAGS } from './init.ts'
import { MINT_FLAGS } from './mint-flags.ts'

/** Shells that {@link completion} knows. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const

/** First words of the command line, with a line of help each. */
export const COMMANDS: readonly (readonly [name: string, text: string])[] = [
  ['init', 'write a configuration, a secret and an administrator to start from'],
  ['token', 'mint, verify and explain tokens'],
  ['healthcheck', 'ask a running server whether it is ready'],
  ['completion', 'print completions for a shell'],
  ['man', 'print the manual page'],
  ['help', 'print the usage'],
  ['version', 'print the version'],
]

const TOKEN_ACTIONS = ['mint', 'verify', 'explain']

const USAGE = `Usage: respcast completion bash|zsh|fish

  bash   respcast completion bash > /etc/bash_completion.d/respcast
  zsh    respcast completion zsh > "\${fpath[1]}/_respcast"
  fish   respcast completion fish > ~/.config/fish/completions/respcast.fish
`

/**
 * `respcast completion bash|zsh|fish`: prints a script.
 *
 * @returns The exit code: 0, or 2 for a shell that is not known.
 */
export function completion([shell]: readonly string[]): number {
  const text = shell === '--help' ? USAGE : scriptFor(shell)
  if (text === undefined) {
    process.stderr.write(USAGE)
    return 2
  }
  process.stdout.write(text)
  return 0
}

function scriptFor(shell: string | undefined): string | undefined {
  switch (shell) {
    case 'bash':
      return bash()
    case 'zsh':
      return `#compdef respcast\nautoload -U +X bashcompinit && bashcompinit\n${bash()}`
    case 'fish':
      return fish()
    default:
      return undefined
  }
}

/** Directives that people set, as flags. */
const DIRECTIVE_FLAGS = DIRECTIVES.filter(takesEffect).map(({ name }) => `--${name}`)

/** A flag of `respcast token mint`, without its value, and its help. */
const MINT: readonly (readonly [flag: string, text: string])[] = MINT_FLAGS.map(([flag, text]) => [
  flag.split(' ', 1)[0] ?? '',
  text,
])

function bash(): string {
  const words = (list: readonly string[]): string => `'${list.join(' ')}'`
  return `_respcast() {
  local word=\${COMP_WORDS[COMP_CWORD]} list
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
    'token mint') list=${words(MINT.map(([flag]) => flag))} ;;
    token*) [ "$COMP_CWORD" = 2 ] && list=${words(TOKEN_ACTIONS)} || list=${words(DIRECTIVE_FLAGS)} ;;
    completion*) list=${words(SHELLS)} ;;
    init*) list=${words(INIT_FLAGS)} ;;
    *) list=${words(['--check', '--strict', ...DIRECTIVE_FLAGS])}
      [ "$COMP_CWORD" = 1 ] && list="${COMMANDS.map(([name]) => name).join(' ')} $list" ;;
  esac
  COMPREPLY=($(compgen -W "$list" -- "$word"))
  case $word in -*) ;; *) COMPREPLY+=($(compgen -f -- "$word")) ;; esac
}
complete -o filenames -F _respcast respcast
`
}

function fish(): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`
  const line = (condition: string, more: string): string =>
    `complete -c respcast -n ${quoted(condition)} ${more}\n`
  const inFirst = '__fish_use_subcommand'
  const within = (command: string): string => `__fish_seen_subcommand_from ${command}`
  return [
    ...COMMANDS.map(([name, text]) => line(inFirst, `-a ${name} -d ${quoted(text)}`)),
    ...TOKEN_ACTIONS.map((name) => line(within('token'), `-a ${name}`)),
    ...SHELLS.map((name) => line(within('completion'), `-f -a ${name}`)),
    ...INIT_FLAGS.map((flag) => line(within('init'), `-x -l ${flag.slice(2)}`)),
    ...MINT.map(([flag, text]) =>
      line(within('mint'), `-x -l ${flag.slice(2)} -d ${quoted(text)}`),
    ),
    line(inFirst, "-l check -d 'check a configuration'"),
    line(inFirst, "-l strict -d 'count what is open as a fault'"),
    ...DIRECTIVE_FLAGS.map((flag) =>
      line(`not ${within('token init completion help version')}`, `-x -l ${flag.slice(2)}`),
    ),
  ].join('')
}
