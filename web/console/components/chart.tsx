import { useEffect, useRef, useState } from 'preact/hooks'
import UPlot from 'uplot'
import { showFigure, showTime } from '../model/format.ts'
import type { Measure } from '../model/history.ts'
import type { Sampler } from '../model/sampler.ts'

const HEIGHT = 180

/** A chart shows a minute at least, so that its first lines do not jump. Seconds. */
const LEAST_SPAN = 60

/** A line of a chart. */
export interface ChartLine {
  readonly measure: Measure
  readonly label: string
  /** A custom property of style/theme.css. */
  readonly color: `--chart-${1 | 2}`
}

/** Lines over the last quarter of an hour, with a legend that shows the values under the pointer, else the latest ones. */
export function Chart(props: {
  readonly title: string
  readonly unit: string
  readonly lines: readonly ChartLine[]
  readonly sampler: Sampler
  /** Values are bytes: the axis counts in powers of two. */
  readonly binary?: boolean
  /** Format of the values; the default suits counts. */
  readonly format?: (value: number | null | undefined) => string
}) {
  const { binary = false, lines, sampler, title, unit, format = showFigure } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(null)
  const [pointed, setPointed] = useState<number>()
  const scheme = useColorScheme()
  const version = sampler.version.value

  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const made = new UPlot(
      optionsOf(element, { lines, binary, format, onPoint: setPointed }),
      dataOf(sampler, lines),
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: HEIGHT })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [scheme])

  useEffect(() => {
    plot.current?.setData(dataOf(sampler, lines))
  }, [version])

  const { samples } = sampler.history
  const sample = samples[pointed ?? samples.length - 1]
  const values = lines.map(({ label, measure, color }) => ({
    label,
    color,
    value: format(sample?.[measure]),
  }))
  const summary = values.map(({ label, value }) => `${label} ${value}`).join(', ')
  return (
    <figure class="card chart" data-testid="chart">
      <figcaption>
        <h2>
          {title} <span class="quiet">{unit}</span>
        </h2>
        <ul class="legend">
          {values.map(({ label, color, value }) => (
            <li key={label} data-color={color}>
              {label} <b>{value}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${title}, ${unit}: ${summary}`} />
    </figure>
  )
}

function dataOf({ history }: Sampler, lines: readonly ChartLine[]): UPlot.AlignedData {
  const times = history.samples.map(({ at }) => at)
  return [times, ...lines.map(({ measure }) => history.line(measure))]
}

/** Steps of the axis for bytes. */
const BINARY_STEPS = Array.from({ length: 40 }, (_step, power) => 2 ** power)

interface ChartLook {
  readonly lines: readonly ChartLine[]
  readonly binary: boolean
  readonly format: (value: number | null | undefined) => string
  /** The sample under the pointer. */
  readonly onPoint: (index: number | undefined) => void
}

function optionsOf(element: HTMLElement, look: ChartLook): UPlot.Options {
  const { lines, binary } = look
  const styles = getComputedStyle(element)
  const color = (name: string): string => styles.getPropertyValue(name).trim()
  const axis: UPlot.Axis = {
    stroke: color('--quiet'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    // Room for the half of the last time that stands beyond the end of the axis.
    padding: [12, 32, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'overview' } },
    scales: {
      x: { range: (_plot, min, max) => [Math.min(min, max - LEAST_SPAN), max] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: color(line.color),
        width: 1.5,
        points: { show: false },
      })),
    ],
    axes: [
      {
        ...axis,
        space: 90,
        size: 30,
        values: (_plot, ticks) => ticks.map((tick) => showTime(tick * 1000)),
      },
      {
        ...axis,
        size: 64,
        ...(binary ? { incrs: BINARY_STEPS } : {}),
        values: (_plot, ticks) => ticks.map((tick) => look.format(tick)),
      },
    ],
    hooks: {
      setCursor: [({ cursor }) => look.onPoint(cursor.idx ?? undefined)],
    },
  }
}

/** The colour scheme of the page. Canvases have to be redrawn when it changes. */
function useColorScheme(): boolean {
  const [dark, setDark] = useState(darkScheme.matches)
  useEffect(() => {
    const changed = (): void => setDark(darkScheme.matches)
    darkScheme.addEventListener('change', changed)
    return () => darkScheme.removeEventListener('change', changed)
  }, [])
  return dark
}

const darkScheme = matchMedia('(prefers-color-scheme: dark)')
