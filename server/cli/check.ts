import { checkTls } from '../gateway.ts'
import { withOfflineCore } from './configuration.ts'
import { CLOSED_TO_BROWSERS, isClosedToBrowsers } from './browsers.ts'
import { openingsOf, thisMachine, type Opening } from './openings.ts'

/** Makes warnings faults. */
const STRICT = '--strict'

/** A configuration with which a server would start. */
interface Checked {
  /** What is open all the same. */
  readonly openings: readonly Opening[]
  /** The directive `upstream`. */
  readonly upstream: string
  /** Its WebSocket lets nobody in. */
  readonly isWithoutBrowsers: boolean
}

/**
 * Reads and checks the configuration and the files that it names, and starts nothing. It writes and fetches nothing.
 *
 * @param argv `[file] [--directive value ...]`
 * @throws RespcastError The fault that keeps a server from starting with it; the network is not checked.
 */
export async function checkConfiguration(argv: readonly string[]): Promise<Checked> {
  const fetchNothing = (): Promise<never> => Promise.reject(new Error('nothing is fetched'))
  return withOfflineCore(
    argv,
    (core) => {
      checkTls(core.config)
      return {
        openings: openingsOf(core, thisMachine()),
        upstream: core.config.text('upstream'),
        isWithoutBrowsers: isClosedToBrowsers(core.config),
      }
    },
    fetchNothing,
  )
}

/**
 * `respcast --check [--strict] [file] [--directive value ...]`: one line to standard error for each thing that is open.
 *
 * @returns The exit code: 0, or with `--strict` 1 if something is open.
 * @throws RespcastError As {@link checkConfiguration}.
 */
export async function check(args: readonly string[]): Promise<number> {
  const { openings, upstream, isWithoutBrowsers } = await checkConfiguration(
    args.filter((arg) => arg !== STRICT),
  )
  for (const { directive, text } of openings) {
    process.stderr.write(`warning: ${directive}: ${text}\n`)
  }
  if (openings.length > 0 && args.includes(STRICT)) {
    process.stderr.write(`respcast: open with ${STRICT}: ${openings.length}\n`)
    return 1
  }
  process.stdout.write('The configuration is good.\n')
  if (isWithoutBrowsers) process.stdout.write(`${CLOSED_TO_BROWSERS}\n`)
  if (upstream !== '') process.stdout.write(`The upstream ${upstream} was not connected to.\n`)
  return 0
}
