import fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { openEvents } from '../../support/event-source.ts'
import { HttpClient } from '../../support/http-client.ts'
import { opener } from '../../support/opened.ts'
import type { TestGateway } from '../../support/server.ts'

const open = opener()

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >
}

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

async function documentOf(server: TestGateway): Promise<Document> {
  const response = await fetch(`${server.url}/openapi.json`)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  return (await response.json()) as Document
}

/** Validates values with the schemas of a document, by the validator that Fastify has for bodies. */
async function validatorOf({
  components,
}: Document): Promise<(schema: object, value: unknown) => Promise<boolean>> {
  const toFastify = (schema: object): object =>
    JSON.parse(
      JSON.stringify(schema).replaceAll('#/components/schemas/', 'schema:'),
      (_key, value: unknown) => {
        if (typeof value !== 'object' || value === null || !('$ref' in value)) return value
        return { $ref: `${String(value.$ref)}#` }
      },
    ) as object
  const app = fastify({
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, strict: false } },
  })
  for (const [name, schema] of Object.entries(components.schemas)) {
    app.addSchema({ $id: `schema:${name}`, ...toFastify(schema) })
  }
  const schemas: object[] = []
  open.onEnd(() => app.close())
  app.post('/:at', async (request) => {
    const { at } = request.params as { at: string }
    return { isValid: request.validateInput(request.body, schemas[Number(at)] ?? {}) }
  })
  await app.ready()
  return async (schema, value) => {
    schemas.push(toFastify(schema))
    const answer = await app.inject({
      method: 'POST',
      url: `/${schemas.length - 1}`,
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(value),
    })
    return answer.json<{ isValid: boolean }>().isValid
  }
}

describe('The OpenAPI document', () => {
  test('names the paths of the configuration, and no others', async () => {
    const server = await open.server()
    const document = await documentOf(server)
    expect(document.openapi).toBe('3.1.0')
    expect(Object.keys(document.paths)).toEqual(['/publish/{channel}', '/publish', '/events'])
    const moved = await open.server({
      directives: { 'http-publish-path': '/api/pub', 'http-events-path': '' },
    })
    expect(Object.keys((await documentOf(moved)).paths)).toEqual(['/api/pub/{channel}', '/api/pub'])
  })

  test('has each answer of requests that publish: its status, and what its JSON is', async () => {
    const server = await open.server({
      directives: { 'http-max-payload': '1kb', 'ws-allowed-origins': 'https://app.test' },
    })
    const document = await documentOf(server)
    const isValid = await validatorOf(document)
    const token = await server.mint('42', { channels: ['a'] })
    const http = new HttpClient(server.httpPort, { authorization: `Bearer ${token}` })
    open.onEnd(() => http.close())
    const cases: readonly [
      path: string,
      body: string,
      headers: Record<string, string>,
      status: number,
    ][] = [
      ['/publish/a', 'x', {}, 200],
      ['/publish/%', 'x', {}, 400],
      ['/publish/a', 'x', { authorization: 'Bearer no' }, 401],
      ['/publish/b', 'x', {}, 403],
      ['/publish/a', 'x', { origin: 'https://evil.test' }, 403],
      ['/publish/a', 'x'.repeat(1_025), {}, 413],
      ['/publish/a', 'x', { 'content-encoding': 'gzip' }, 415],
      ['/publish/a', 'x', { 'idempotency-key': 'k' }, 200],
      ['/publish/a', 'y', { 'idempotency-key': 'k' }, 422],
      ['/publish', '[{"channel":"a","payload":"x"},{"channel":"b","payload":""}]', {}, 200],
      ['/publish', '{"channel":"a","b64payload":"eA=="}', {}, 200],
      ['/publish', '[1]', {}, 400],
    ]
    for (const [path, body, headers, status] of cases) {
      const answer = await http.post(path, body, headers)
      expect([path, answer.status]).toEqual([path, status])
      const pattern = path === '/publish' ? path : '/publish/{channel}'
      const documented = document.paths[pattern]?.['post']?.responses[String(status)]
      const schema = documented?.content?.['application/json']?.schema
      expect(schema).toBeDefined()
      expect(await isValid(schema ?? {}, answer.json)).toBe(true)
    }
  })

  test('has each answer of streams, and the data of their messages', async () => {
    const server = await open.server()
    const document = await documentOf(server)
    const isValid = await validatorOf(document)
    const authorization = `Bearer ${await server.mint('42', { channels: ['a*'] })}`
    const responses = document.paths['/events']?.['get']?.responses ?? {}
    for (const [query, headers, status] of [
      ['', { authorization }, 400],
      ['channel=a', {}, 401],
      ['channel=b', { authorization }, 403],
    ] as const) {
      const source = await openEvents(server.httpPort, `/events?${query}`, headers)
      await source.ended()
      expect(source.status).toBe(status)
      const schema = responses[String(status)]?.content?.['application/json']?.schema ?? {}
      expect(await isValid(schema, JSON.parse(source.text))).toBe(true)
    }
    const source = await openEvents(server.httpPort, '/events?channel=a&pattern=a*', {
      authorization,
    })
    open.onEnd(() => source.destroy())
    await source.take(3)
    const client = await open.tcp(server)
    client.command('PUBLISH', 'a', 'text')
    client.command('PUBLISH', 'a\xff', '\xff')
    const { MessageEvent = {} } = document.components.schemas
    for (const { event, data } of await source.take(3)) {
      expect(event).toBe('message')
      expect(await isValid(MessageEvent, data)).toBe(true)
    }
  })

  test('refuses what is no message', async () => {
    const document = await documentOf(await open.server())
    const isValid = await validatorOf(document)
    const { Message = {} } = document.components.schemas
    expect(await isValid(Message, { channel: 'a', payload: 'x' })).toBe(true)
    expect(await isValid(Message, { channel: 'a', payload: 'x', b64payload: 'eA==' })).toBe(false)
    expect(await isValid(Message, { channel: 'a' })).toBe(false)
    expect(await isValid(Message, { channel: 'a', payload: 1 })).toBe(false)
  })
})
