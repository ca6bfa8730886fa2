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

  const RULES = readFileSync(join(ROOT, 'deploy/prometheus/rules.yml'), 'utf8')
  const ALERTS = [...RULES.matchAll(/- alert: (\w+)\n +expr: (.+)/g)]

  test('says for each alert of deploy/ what to do, in their order, and each has a test', () => {
    const names = ALERTS.map(([, name]) => name)
    const rows = [...PAGE.matchAll(/^\| `(Respcast\w+)` \| .{40,} \|$/gm)]
    expect(rows.map(([, name]) => name)).toEqual(names)
    const tests = readFileSync(join(ROOT, 'deploy/prometheus/rules.test.yml'), 'utf8')
    const raised = tests.matchAll(/alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:\n/g)
    expect([...raised].map(([, name]) => name)).toEqual(names)
    const unraised = tests.matchAll(/\{ alertname: (\w+), eval_time: \w+ \}/g)
    expect([...unraised].map(([, name]) => name)).toEqual(names)
  })

  test('has metrics that are there in each alert, and in the dashboard', () => {
    const dashboard = readFileSync(join(ROOT, 'deploy/grafana/respcast.json'), 'utf8')
    const known = [...NAMES, ...NAMES.flatMap((name) => [`${name}_sum`, `${name}_count`])]
    const expressions = [
      ...ALERTS.map(([, , expression = '']) => expression),
      ...[...dashboard.matchAll(/"expr": "(.*)"/g)].map(([, expression = '']) => expression),
    ]
    expect(expressions.length).toBeGreaterThan(50)
    for (const expression of expressions) {
      const used = expression.match(/\brespcast_\w+/g) ?? []
      expect(used.filter((name) => !known.includes(name))).toEqual([])
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
