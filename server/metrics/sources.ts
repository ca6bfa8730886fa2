import type { Services } from '../command/context.ts'

/** Where the figures are: plain integers that are counted on the way, and tables that know their size. */
export interface MetricSources {
  readonly services: Pick<
    Services,
    'aclLog' | 'backplane' | 'clients' | 'config' | 'counters' | 'load' | 'registry' | 'tokens'
  >
  /** This server's own version. */
  readonly version: string
}
