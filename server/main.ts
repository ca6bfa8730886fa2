#!/usr/bin/env node
import { check } from './cli/check.ts'
import { completion } from './cli/completions.ts'
import { healthcheck } from './cli/healthcheck.ts'
import { init } from './cli/init.ts'
import { manPage } from './cli/man-page.ts'
import { serve } from './cli/serve.ts'
import { tokenCommand } from './cli/token.ts'
import { RespcastError } from './errors.ts'
import { RESPCAST_VERSION } from './version.ts'

const HELP = `Respcast: Redis Pub/Sub that browsers can join.

Usage: respcast [file] [--directive value ...]   serve; without anything: the development profile
       respcast init [folder]                    write a configuration, a secret and an administrator to start from
       respcast --check [--strict] [file] [...]  check a configuration: what is wrong, and what it leaves open
       respcast token mint|verify|explain ...    tokens: make, judge, explain (see respcast token --help)
       respcast healthcheck [file] [...]         ask a running server whether it is ready
       respcast completion bash|zsh|fish         print completions for a shell
       respcast man                              print the manual page: respcast man | man -l -
       respcast version | help

Every directive of redis.conf works as --name value, as RESPCAST_CONF_NAME in the environment, and in the file.
They are listed in docs/directives.md.
`

/** Runs the command line. @returns The exit code. */
async function run(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  switch (first) {
    case 'version':
    case '--version':
    case '-v':
      process.stdout.write(`respcast ${RESPCAST_VERSION}\n`)
      return 0
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(HELP)
      return 0
    case '--check':
      return check(rest)
    case 'init':
      return init(rest)
    case 'completion':
      return completion(rest)
    case 'man':
      process.stdout.write(manPage())
      return 0
    case 'token':
      return tokenCommand(rest)
    case 'healthcheck':
      return healthcheck(rest)
    default:
      await serve(args)
      return 0
  }
}

try {
  process.exit(await run(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof RespcastError)) throw error
  process.stderr.write(`respcast: ${error.message}\n`)
  process.exit(1)
}
