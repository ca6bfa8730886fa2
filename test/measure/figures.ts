/** Monotonic milliseconds. */
export const nowMs = (): number => performance.now()
export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, ms))

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN
}

/** Median, 99th percentile and worst of milliseconds, as text. */
export function spread(values: readonly number[]): string {
  return `p50 ${quantile(values, 0.5).toFixed(2)} ms, p99 ${quantile(values, 0.99).toFixed(2)} ms, worst ${Math.max(...values).toFixed(2)} ms, of ${values.length}`
}
