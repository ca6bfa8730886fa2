import { ProtocolError } from '../../server/resp/protocol-error.ts'
import { RequestParser, type RequestLimits } from '../../server/resp/request-parser.ts'

/** The limits of Redis for a client over TCP. */
export const TCP_LIMITS: RequestLimits = {
  maxBulkBytes: 536_870_912,
  maxArguments: 2_147_483_647,
  maxCommandBytes: Number.POSITIVE_INFINITY,
}

/** Output of a parser: requests as byte strings, and its end. */
export interface Parsed {
  readonly requests: string[][]
  readonly error: ProtocolError | undefined
}

/**
 * Feeds chunks one after the other, taking every request as soon as it is there. Each chunk is lent, and overwritten
 * before the next comes.
 */
export function parseRequests(
  chunks: readonly Uint8Array[],
  limits: RequestLimits = TCP_LIMITS,
  unauthenticated = false,
): Parsed {
  const parser = new RequestParser(limits)
  parser.unauthenticated = unauthenticated
  const requests: string[][] = []
  try {
    for (const chunk of chunks) {
      const lent = Buffer.from(chunk)
      parser.lend(lent)
      while (parser.next()) {
        requests.push(Array.from({ length: parser.count }, (_, index) => parser.text(index)))
      }
      parser.keep(false)
      lent.fill(0xee)
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    return { requests, error }
  }
  return { requests, error: undefined }
}
