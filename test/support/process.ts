import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { vi } from 'vitest'
import type { Opener } from './opened.ts'
import { folderWith } from './folder.ts'

/** The folder of the repository. */
export const ROOT = join(import.meta.dirname, '../..')

/** The built program: it starts in a third of the time that the sources take. */
const MAIN = join(ROOT, 'dist/server/main.js')

/** Longest start of a process, on a busy machine. */
const PATIENCE_MS = 20_000

/** The end of a command line. */
export interface Outcome {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** A process that runs. */
export interface Run {
  readonly child: ChildProcess
  /** Standard output until now. */
  readonly output: () => string
  readonly ended: Promise<Outcome>
  /** Waits until the output has `text`. */
  says(text: string): Promise<void>
}

/** Runs `respcast ...args`, with nothing of this process's environment that configures it. */
export function respcast(
  open: Pick<Opener, 'onEnd'>,
  args: readonly string[],
  options: {
    cwd?: string
    env?: object
    input?: string
    /** The limit of open files. */
    openFiles?: number
  } = {},
): Run {
  const limit = options.openFiles === undefined ? '' : `ulimit -n ${options.openFiles} && `
  const child = spawn(
    '/bin/sh',
    ['-c', `${limit}exec "$@"`, 'sh', process.execPath, MAIN, ...args],
    {
      cwd: options.cwd ?? folderWith(),
      // Half a second of each start, which no test waits for but that of it.
      env: { PATH: process.env['PATH'], RESPCAST_CONF_WARM_UP: 'no', ...options.env },
    },
  )
  child.stdin.end(options.input ?? '')
  let [output, errors] = ['', '']
  let wake = (): void => {}
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    wake()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  let isOver = false
  const ended = new Promise<Outcome>((resolve) => {
    child.on('close', (code) => {
      isOver = true
      wake()
      resolve({ code, output, errors })
    })
  })
  open.onEnd(async () => {
    if (!isOver) child.kill('SIGKILL')
    await ended
  })
  return {
    child,
    ended,
    output: () => output,
    says: async (text) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      while (!output.includes(text)) {
        if (isOver) throw new Error(`ended without saying '${text}': ${output}${errors}`)
        await new Promise<void>((resolve) => (wake = resolve))
      }
      clearTimeout(timer)
    },
  }
}

/** Runs a part of the command line in this process, as if it had been started in `cwd`. */
export async function runHere(
  cwd: string,
  run: () => Promise<number>,
): Promise<Outcome & { readonly code: number }> {
  const said = { output: '', errors: '' }
  const listen = (name: keyof typeof said) => (text: string | Uint8Array) => {
    said[name] += String(text)
    return true
  }
  const spies = [
    vi.spyOn(process, 'cwd').mockReturnValue(cwd),
    vi.spyOn(process.stdout, 'write').mockImplementation(listen('output')),
    vi.spyOn(process.stderr, 'write').mockImplementation(listen('errors')),
  ]
  try {
    return { code: await run(), ...said }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}
