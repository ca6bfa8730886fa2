import type { InfoSection, Services } from '../context.ts'
import { clientsSection, memorySection, persistenceSection } from './info-clients.ts'
import {
  commandStats,
  errorStats,
  latencyStats,
  replicationSection,
  statsSection,
  threadsSection,
} from './info-stats.ts'

interface SectionSpec {
  readonly name: string
  /** Shown only when asked for, or for `all` or `everything`. */
  readonly isOnDemand?: boolean
  readonly build: (server: Services) => InfoSection['fields']
}

/** The sections in the order of Redis 8.0. */
const SECTIONS: readonly SectionSpec[] = [
  { name: 'Server', build: ({ facts }) => facts.server() },
  { name: 'Clients', build: clientsSection },
  { name: 'Memory', build: memorySection },
  { name: 'Persistence', build: persistenceSection },
  { name: 'Threads', build: threadsSection },
  { name: 'Stats', build: statsSection },
  { name: 'Replication', build: replicationSection },
  { name: 'CPU', build: ({ facts }) => facts.cpu() },
  { name: 'Modules', build: () => [] },
  { name: 'Commandstats', isOnDemand: true, build: commandStats },
  { name: 'Errorstats', build: errorStats },
  { name: 'Latencystats', isOnDemand: true, build: latencyStats },
  { name: 'Cluster', build: ({ cluster }) => [['cluster_enabled', cluster ? 1 : 0]] },
  { name: 'Keyspace', build: () => [] },
  { name: 'Keysizes', build: () => [] },
]

/**
 * INFO's text: `# Section`, its fields, an empty line between sections (Redis command INFO).
 *
 * @param wanted Section names in lower case; empty means the default ones.
 */
export function infoText(server: Services, wanted: readonly string[]): string {
  const everything = wanted.includes('all') || wanted.includes('everything')
  const usual = wanted.length === 0 || wanted.includes('default')
  return SECTIONS.filter(
    ({ name, isOnDemand = false }) =>
      everything || (usual && !isOnDemand) || wanted.includes(name.toLowerCase()),
  )
    .map(({ name, build }) => sectionText({ name, fields: build(server) }))
    .join('\r\n')
}

function sectionText({ name, fields }: InfoSection): string {
  return `# ${name}\r\n${fields.map(([field, value]) => `${field}:${value}\r\n`).join('')}`
}
