import { spawn, type ChildProcess } from 'node:child_process'

/** A program that was started. */
export interface Running {
  readonly child: ChildProcess
  /** Output so far, of both streams, as a byte string. */
  output(): string
  /** Its exit code once it has ended; null after a signal. */
  readonly ended: Promise<number | null>
}

/** Starts a program. @param input Its standard input, which then ends. */
export function runProgram(program: string, args: readonly string[], input = ''): Running {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code))
    child.once('error', () => resolve(null))
  })
  return { child, output: () => text, ended }
}

/** Ends a program at once, and waits for its end. */
export async function endProgram({ child, ended }: Running): Promise<void> {
  child.kill('SIGKILL')
  await ended
}
