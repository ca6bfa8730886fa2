import { encodeCommand } from '../../../shared/resp/command.ts'
import { RespReader } from '../../../shared/resp/reader.ts'
import { isError } from '../../../shared/resp/types.ts'
import { closeNamed, closeReason } from '../../../shared/close-codes.ts'
import type { WebSocketConstructor } from '../../client/index.ts'

/** Stands where the client library expects a token; it never leaves the page. */
export const PLACEHOLDER_TOKEN = 'password'

/**
 * A WebSocket on which an ACL user logs in by password.
 *
 * The client library logs in by token; the console's user has none. So the first command that the library sends, `AUTH jwt`
 * with {@link PLACEHOLDER_TOKEN}, leaves as `AUTH user password`, and an error in reply to it becomes the close that the
 * library knows as a refusal (4401): it stops instead of trying again. The password lives in this closure alone.
 */
export function passwordSocket(user: string, password: string): WebSocketConstructor {
  return class extends WebSocket {
    #sentLogin = false

    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      this.addEventListener('message', ({ data }: MessageEvent) => this.#readLogin(data), {
        once: true,
      })
    }

    override send(bytes: Uint8Array<ArrayBuffer>): void {
      super.send(this.#sentLogin ? bytes : encodeCommand(['AUTH', user, password]))
      this.#sentLogin = true
    }

    #readLogin(data: unknown): void {
      if (!(data instanceof ArrayBuffer)) return
      const reader = new RespReader()
      reader.push(new Uint8Array(data))
      const reply = reader.next()
      if (reply === undefined || !isError(reply)) return
      const { code } = closeNamed('unauthorized')
      const reason = closeReason('unauthorized', undefined, reply.message)
      this.dispatchEvent(new CloseEvent('close', { code, reason }))
      this.close()
    }
  }
}
