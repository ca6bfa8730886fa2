import { useEffect, useRef, useState } from 'preact/hooks'
import type { CommandSource } from './command-log.ts'

/** A value that is loaded from the server, and can be reloaded. */
export interface Resource<Value> {
  /** The value loaded last; undefined before that. */
  readonly value: Value | undefined
  /** Error of the last attempt; undefined if it succeeded. */
  readonly error: unknown
  readonly loading: boolean
  /** Loads again now. */
  readonly refresh: () => void
}

/**
 * Loads a value when the view is shown, when `key` changes, on request, and at an interval while the page is visible.
 * Answers of an earlier key are dropped.
 *
 * @param everyMs Interval, counted from the answer; undefined for none.
 */
export function useResource<Value>(
  load: (source: CommandSource) => Promise<Value>,
  key = '',
  everyMs?: number,
): Resource<Value> {
  const [value, setValue] = useState<{ key: string; value: Value }>()
  const [error, setError] = useState<unknown>()
  const [loading, setLoading] = useState(true)
  const [asked, setAsked] = useState(0)
  const latest = useRef(load)
  latest.current = load

  useEffect(() => {
    let current = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = async (source: CommandSource): Promise<void> => {
      if (source === 'refresh' && document.visibilityState === 'hidden') return again()
      if (source === 'user') setLoading(true)
      try {
        const loaded = await latest.current(source)
        if (!current) return
        setValue({ key, value: loaded })
        setError(undefined)
      } catch (failure) {
        if (!current) return
        setError(failure)
      }
      setLoading(false)
      again()
    }
    const again = (): void => {
      if (current && everyMs !== undefined) timer = setTimeout(() => void run('refresh'), everyMs)
    }
    void run('user')
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [key, asked, everyMs])

  return {
    value: value?.key === key ? value.value : undefined,
    error,
    loading,
    refresh: () => setAsked((times) => times + 1),
  }
}

/** Runs actions of the operator, and keeps the error of the last one for its message. */
interface Action {
  /** Undefined while nothing failed. */
  readonly error: unknown
  /** @returns False if the work threw. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>
  readonly clear: () => void
}

/** An {@link Action} of a view. */
export function useAction(): Action {
  const [error, setError] = useState<unknown>()
  const clear = (): void => setError(undefined)
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    clear()
    try {
      await work()
      return true
    } catch (failure) {
      setError(failure)
      return false
    }
  }
  return { error, run, clear }
}
