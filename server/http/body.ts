import type { IncomingMessage } from 'node:http'

/**
 * Collects the body of a request, which may be sent in chunks of unknown number.
 *
 * @param done Called once: with the bytes, or without where there are more than `most`; not at all if the peer goes away.
 */
export function collectBody(
  request: IncomingMessage,
  most: number,
  done: (body: Buffer | undefined) => void,
): void {
  const chunks: Buffer[] = []
  let length = 0
  if (Number(request.headers['content-length'] ?? 0) > most) {
    done(undefined)
    return
  }
  const onData = (chunk: Buffer): void => {
    length += chunk.length
    if (length <= most) {
      chunks.push(chunk)
      return
    }
    request.off('data', onData).off('end', onEnd)
    done(undefined)
  }
  const onEnd = (): void => {
    done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length))
  }
  request.on('data', onData).on('end', onEnd)
}
