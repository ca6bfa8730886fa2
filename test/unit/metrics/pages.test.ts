import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findDirective } from '../../../server/config/directives.ts'
import { FIGURES } from '../../../server/metrics/figures.ts'

const ROOT = join(import.meta.dirname, '../../..')

const PAGE = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')

/** The part of the page under a heading. */
function section(heading: string): string {
  const [, part = ''] = PAGE.split(`\n## ${heading}\n`, 2)
  return part.split('\n## ', 1)[0] ?? ''
}

/** Metrics that a text names; those of the process are prom-client's. */
function namedIn(text: string): string[] {
  return [...text.matchAll(/respcast_[a-z_]+/g)].map(([name]) => name)
}

const NAMES = FIGURES.map(({ name }) => name)

describe('docs/operations.md', () => {
  test('has one row for each metric with its type and its labels, and no other', () => {
    const rows = [
      ...section('Metrics').matchAll(/^\| `(respcast_\w+)(?:\{(.*?)\})?` \| (\w+) \|/gm),
    ]
    expect(rows.map(([, name, labels = '', type]) => `${name}{${labels}} ${type}`)).toEqual(
      FIGURES.map(({ name, labels, type }) => `${name}{${labels.join(', ')}} ${type}`),
    )
  })

  test('names no metric that is not there', () => {
    const strangers = namedIn(PAGE.replaceAll('respcast_version', '')).filter(
      (name) => !NAMES.includes(name),
    )
    expect(strangers).toEqual([])
  })

  test('has at least five alerts, each on metrics that are there', () => {
    const alerts = [...section('Metrics').matchAll(/- alert: (\w+)\n +expr: (.+)/g)]
    expect(alerts.length).toBeGreaterThanOrEqual(5)
    const known = [...NAMES, 'nodejs_eventloop_lag_p99_seconds']
    for (const [, , expression = ''] of alerts) {
      const used = expression.match(/(?:respcast|nodejs|process)_\w+/g) ?? []
      expect(used.filter((name) => !known.includes(name))).toEqual([])
      expect(used.length).toBeGreaterThan(0)
    }
  })

  test('has a metric, and directives that exist, in each row of limits', () => {
    const rows = section('Limits')
      .split('\n')
      .filter((line) => /^\| [a-z]/.test(line) && !line.startsWith('| what |'))
    expect(rows.length).toBeGreaterThan(10)
    for (const row of rows) {
      const [, what, directives = '', , metrics = ''] = row.split('|')
      expect({ what, hasMetric: namedIn(metrics).length > 0 }).toEqual({ what, hasMetric: true })
      for (const [, name = ''] of directives.matchAll(/`([a-z-]+)`/g)) {
        expect({ name, isThere: findDirective(name) !== undefined }).toEqual({
          name,
          isThere: true,
        })
      }
    }
  })
})

test.each(FIGURES)('$name is named as Prometheus asks', ({ name, type, help }) => {
  expect(name).toMatch(/^respcast_[a-z]+(_[a-z]+)*$/)
  expect(name.endsWith('_total')).toBe(type === 'counter')
  expect(help).toMatch(/\.$/)
})
