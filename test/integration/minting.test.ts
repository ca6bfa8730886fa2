import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { requireInCi } from '../interop/endpoint.ts'
import { folderWith } from '../support/folder.ts'
import { assertLogsIn, MINTING_SECRET, startMintingServer } from '../support/minting.ts'
import { namedBlock, namedBlocks } from '../support/named-blocks.ts'
import { run } from '../support/packaged.ts'
import { ROOT } from '../support/process.ts'
import { findProgram } from '../support/redis-servers.ts'

const PAGE = 'docs/minting.md'
const PYTHON = '/usr/bin/python3'
const GO_PATH = '/usr/share/gocode'

const runs = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args).status === 0

const hasDjango = requireInCi(
  runs(PYTHON, '-c', 'import django, jwt'),
  'Django and PyJWT (python3-django, python3-jwt)',
)
const hasRuby = requireInCi(runs('ruby', '-e', 'require "jwt"'), "Ruby's jwt (ruby-jwt)")
const hasPhp = requireInCi(runs('php', '--version'), 'PHP (php-cli)')
// Its compiler is larger than all else that the build machine installs.
const hasGo =
  findProgram('go') !== undefined && existsSync(`${GO_PATH}/src/github.com/golang-jwt/jwt/v5`)

/** Blocks of the page as files of a folder, beside other files. */
function folderOf(
  blocks: readonly string[],
  others: Readonly<Record<string, string>> = {},
): string {
  const folder = folderWith()
  const files = {
    ...others,
    ...Object.fromEntries(blocks.map((file) => [file, namedBlock(PAGE, file)])),
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

/** A folder with the packages of this project, and with itself as it was built. */
function nodeFolder(
  blocks: readonly string[],
  others: Readonly<Record<string, string>> = {},
): string {
  const folder = folderOf(blocks, { 'package.json': '{"type":"module"}', ...others })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/respcast'))
  for (const name of ['fastify', '@types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return folder
}

const ENV = { ...process.env, RESPCAST_JWT_SECRET: MINTING_SECRET }

/** Runs a program. @returns The token that it prints. */
async function tokenOf(folder: string, program: string, ...args: string[]): Promise<string> {
  return (await run(folder, program, args, ENV)).stdout.trim()
}

/** Proves that a token logs in as subject 42 in the role `member`. */
async function expectMember(token: string): Promise<void> {
  await assertLogsIn(await startMintingServer(), token)
}

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: true,
  target: 'ES2022',
  module: 'Node16',
  moduleResolution: 'node16',
  types: ['node'],
}

/** Compiles a program of the page under `strict`, and runs it. */
async function compiled(folder: string, file: string): Promise<string> {
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, files: [file] }),
  )
  await run(folder, join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.'])
  return tokenOf(folder, process.execPath, file.replace(/ts$/, 'js'))
}

describe('docs/minting.md', { timeout: 60_000 }, () => {
  test('has no program that no test runs, but the one that it says so of', () => {
    const tested = [
      'mint.ts',
      'mint-es256.ts',
      'express.mjs',
      'fastify.mjs',
      'app/token/route.ts',
      'views.py',
      'app/models/respcast_token.rb',
      'app/controllers/tokens_controller.rb',
      'app/Support/RespcastToken.php',
      'routes/web.php',
      'token.go',
    ]
    const files = namedBlocks(PAGE).map(({ file }) => file)
    expect(files).toEqual([...tested, 'TokenController.java'])
  })

  test('has a program with respcast/token that compiles under strict, and logs in with further claims', async () => {
    const token = await compiled(nodeFolder(['mint.ts']), 'mint.ts')
    await expectMember(token)
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    expect(JSON.parse(payload)).toMatchObject({ org: 'acme', respcast: { channels: ['room:7'] } })
  })

  test('has a program that signs with a private key, whose public half the server has', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const folder = nodeFolder(['mint-es256.ts'], {
      'accounts-private.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      'accounts.pem': publicKey.export({ type: 'spki', format: 'pem' }) as string,
    })
    const server = await startMintingServer({
      'jwt-public-key-file': join(folder, 'accounts.pem'),
      'jwt-algorithms': 'ES256',
    })
    await assertLogsIn(server, await compiled(folder, 'mint-es256.ts'))
  })

  test('has an endpoint of Fastify', async () => {
    const folder = nodeFolder([], {
      'users.mjs':
        'export const userOf = ({ headers }) => headers.user && { id: Number(headers.user) }',
      'fastify.mjs':
        namedBlock(PAGE, 'fastify.mjs') +
        `const ask = (headers) => app.inject({ method: 'POST', url: '/token', headers })
        const { body, headers } = await ask({ user: '42' })
        if ((await ask({})).statusCode !== 401) throw new Error('strangers get one')
        if (headers['cache-control'] !== 'no-store') throw new Error('it is kept')
        console.log(body)
        await app.close()`,
    })
    const env = { ...ENV, PORT: '0' }
    const { stdout } = await run(folder, process.execPath, ['fastify.mjs'], env)
    await expectMember(stdout.trim())
  })

  test.runIf(hasDjango)('has a view of Django', async () => {
    const folder = folderOf(['views.py'], {
      'ask.py': `
from types import SimpleNamespace
from django.conf import settings
settings.configure()
import django
django.setup()
from django.test import RequestFactory
from views import token

def ask(authenticated, method='post'):
    request = getattr(RequestFactory(), method)('/token')
    request.user = SimpleNamespace(pk=42, is_authenticated=authenticated)
    return token(request)

assert ask(False).status_code == 401
assert ask(True, 'get').status_code == 405
assert 'no-store' in ask(True)['Cache-Control']
print(ask(True).content.decode())
`,
    })
    await expectMember(await tokenOf(folder, PYTHON, 'ask.py'))
  })

  test.runIf(hasRuby)('has a controller of Rails', async () => {
    const blocks = ['app/models/respcast_token.rb', 'app/controllers/tokens_controller.rb']
    const folder = folderOf(blocks, {
      'ask.rb': `
User = Struct.new(:id)
Response = Struct.new(:headers)
class ApplicationController
  attr_accessor :current_user
  def response = (@response ||= Response.new({}))
  def head(status) = status
  def render(plain:) = plain
end
require './app/models/respcast_token'
require './app/controllers/tokens_controller'
raise 'strangers get one' unless TokensController.new.create == :unauthorized
controller = TokensController.new
controller.current_user = User.new(42)
puts controller.create
raise 'it is kept' unless controller.response.headers['Cache-Control'] == 'no-store'
`,
    })
    await expectMember(await tokenOf(folder, 'ruby', 'ask.rb'))
  })

  test.runIf(hasPhp)('has a route of Laravel', async () => {
    const folder = folderOf(['app/Support/RespcastToken.php', 'routes/web.php'], {
      'ask.php': `<?php
namespace Illuminate\\Http {
  final class Request { public function user() { return (object) ['id' => 42]; } }
}
namespace Illuminate\\Support\\Facades {
  final class Route {
    public static function post(string $path, \\Closure $handler) {
      if ($path !== '/token') throw new \\Exception($path);
      [$token, $status, $headers] = $handler(new \\Illuminate\\Http\\Request());
      if ($status !== 200 || $headers['Cache-Control'] !== 'no-store') throw new \\Exception('it is kept');
      echo $token;
      return new self();
    }
    public function middleware(string $name) { if ($name !== 'auth') throw new \\Exception($name); }
  }
}
namespace {
  function config(string $name) { return $name === 'services.respcast.secret' ? getenv('RESPCAST_JWT_SECRET') : null; }
  function response(...$parts) { return $parts; }
  require './app/Support/RespcastToken.php';
  require './routes/web.php';
}
`,
    })
    await expectMember(await tokenOf(folder, 'php', 'ask.php'))
  })

  test.runIf(hasGo)('has a handler of Go', async () => {
    const folder = folderOf(['token.go'], {
      'main.go': `package main
import ("fmt"; "net/http"; "net/http/httptest")
func userID(r *http.Request) string { return r.Header.Get("User") }
func main() {
	request := httptest.NewRequest("POST", "/token", nil)
	stranger := httptest.NewRecorder()
	token(stranger, request)
	if stranger.Code != 401 { panic(stranger.Code) }
	request.Header.Set("User", "42")
	answer := httptest.NewRecorder()
	token(answer, request)
	if answer.Header().Get("Cache-Control") != "no-store" { panic("it is kept") }
	fmt.Println(answer.Body.String())
}
`,
    })
    const env = { ...ENV, GO111MODULE: 'off', GOPATH: GO_PATH, GOCACHE: join(folder, 'cache') }
    const { stdout } = await run(folder, 'go', ['run', '.'], env)
    await expectMember(stdout.trim())
  })
})
