import { Agent, request, type IncomingHttpHeaders } from 'node:http'

/** An answer of HTTP. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON. */
  readonly json: unknown
  /** Port of this side of the connection, by which connections are told apart. */
  readonly localPort: number
}

/** What is asked for. */
interface HttpQuestion {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** The body is sent in chunks, without a length. */
  readonly chunked?: boolean
}

/** Sends requests one after the other over one connection, as long as the server keeps it. */
export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number
  readonly #headers: Readonly<Record<string, string>>

  /** @param headers Of each request. */
  constructor(port: number, headers: Readonly<Record<string, string>> = {}) {
    this.#port = port
    this.#headers = headers
  }

  post(
    path: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpAnswer> {
    return this.send(path, { method: 'POST', body, headers })
  }

  send(
    path: string,
    { method = 'GET', headers, body, chunked }: HttpQuestion = {},
  ): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const length = { 'content-length': String(Buffer.byteLength(body ?? '')) }
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          agent: this.#agent,
          path,
          method,
          headers: {
            ...this.#headers,
            ...(chunked || body === undefined ? {} : length),
            ...headers,
          },
        },
        (response) => {
          const localPort = response.socket.localPort ?? 0
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            const isJson = response.headers['content-type']?.startsWith('application/json')
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text,
              json: isJson ? (JSON.parse(text) as unknown) : undefined,
              localPort,
            })
          })
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
