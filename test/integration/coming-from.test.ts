import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { splitWords } from '../../shared/words.ts'
import { opener } from '../support/opened.ts'
import { ROOT } from '../support/process.ts'

const FOLDER = join(ROOT, 'docs/coming-from')
const open = opener()

/** Pages for those who know another system. Their programs are compiled by `snippets.test.ts`. */
const PAGES = readdirSync(FOLDER).map((name) => ({
  name,
  text: readFileSync(join(FOLDER, name), 'utf8'),
}))

describe.each(PAGES)('docs/coming-from/$name', ({ text }) => {
  test('has concepts side by side, a program before and after, and what is missing', () => {
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['Concepts', 'Before', 'After', 'What is missing here'])
    const part = (from: string, to?: string): string =>
      text.slice(
        text.indexOf(`## ${from}`),
        to === undefined ? undefined : text.indexOf(`## ${to}`),
      )
    expect(part('Concepts', 'Before').match(/^\| .+ \| .+ \|$/gm)?.length).toBeGreaterThan(8)
    expect(part('Before', 'After')).toMatch(/^```js before$/m)
    expect(part('After', 'What is missing here')).toMatch(/^```ts$/m)
    expect(part('What is missing here').match(/^- /gm)?.length).toBeGreaterThan(3)
  })

  test('has commands that a server takes', async () => {
    const server = await open.server()
    const client = await open.tcp(server)
    for (const [, line = ''] of text.matchAll(/^redis-cli -p 6380 (.+)$/gm)) {
      client.command(...(splitWords(line) ?? []))
      const reply = await client.takeLine()
      expect({ line, reply }).toEqual({ line, reply: expect.stringMatching(/^[+:]/) as string })
    }
  })

  test('names commands that there are', async () => {
    const server = await open.server()
    const client = await open.tcp(server)
    const named = text.matchAll(/`(PUBLISH|PUBSUB \w+|CLIENT KILL|TOKEN \w+|ACL \w+)[^`]*`/g)
    for (const words of new Set([...named].map(([, name = '']) => name))) {
      client.command('COMMAND', 'INFO', words.toLowerCase().replace(' ', '|'))
      expect({ words, line: await client.takeLine() }).toEqual({ words, line: '*1' })
      expect({ words, line: await client.takeLine() }).toEqual({ words, line: '*10' })
      client.command('PING', 'over')
      await client.takeUntil('$4\r\nover\r\n')
    }
  })
})
