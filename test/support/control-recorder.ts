import type { ControlLine, ControlUser } from '../../server/upstream/control-line.ts'

/** A user of a control line that notes what it is told, in order. */
export class ControlRecorder implements ControlUser {
  readonly channels: readonly string[]
  /** `up`, `up elsewhere`, `down`, `listening`, `deaf`, and messages as `channel payload`, byte strings. */
  readonly told: string[] = []
  refusal: ControlUser['refusal'] = undefined
  problems: readonly string[] = []
  /** Is called with each message. */
  onMessage: (text: string) => void = () => {}
  /** Is called before messages are handed over. */
  onRead: () => void = () => {}
  onListening: () => void = () => {}

  constructor(channels: readonly string[] = ['{respcast:test}:ctl', '{respcast:test}:ask']) {
    this.channels = channels
  }

  /** Admits whenever the channels are in force. */
  admitting(line: ControlLine | undefined): this {
    this.onListening = () => line?.admit()
    return this
  }

  /** What was told since the last look. */
  take(): string[] {
    return this.told.splice(0)
  }

  up(isOther: boolean): void {
    this.told.push(isOther ? 'up elsewhere' : 'up')
  }

  down(): void {
    this.told.push('down')
  }

  listening(): void {
    this.told.push('listening')
    this.onListening()
  }

  deaf(): void {
    this.told.push('deaf')
  }

  message(channel: string, payload: Buffer): void {
    const text = payload.toString('latin1')
    this.told.push(`${channel} ${text}`)
    this.onMessage(text)
  }

  beforeRead(): void {
    this.onRead()
  }
}
