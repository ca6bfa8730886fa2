import { createHash } from 'node:crypto'

/** A script of the upstream, and its SHA-1, by which it is called. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** The layout of the keys that these scripts read and write. */
export const FORMAT = '1'

/** Most entries in the log, nearly. */
const LOG_ENTRIES = 100_000

/** A lost commit is looked for among so many of the newest entries. */
const RETRY_ENTRIES = 10_000

/** Numbers above are those that gateways choose themselves until they have one. */
const HIGHEST_NUMBER = 2_047

/** Records of gateways whose lease lapsed so long ago are removed, in ms. */
const FORGOTTEN_MS = 3_600_000

/**
 * Scripts write although `maxmemory` is reached: a revocation that is refused for want of memory, and a lease that is not renewed, are
 * worse than some kilobytes more.
 */
const HEAD = '#!lua flags=allow-oom\n'

/** KEYS and the first arguments of all scripts, and what they begin with. An unknown layout is left alone. */
const OPENING = `
local log, state, nodes = KEYS[1], KEYS[2], KEYS[3]
local format = redis.call('HGET', state, 'format')
if format and format ~= ARGV[1] then
  return {'format', format}
end
if not format then
  redis.call('HSET', state, 'format', ARGV[1], 'epoch', ARGV[2])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(number)
  return string.format('%.0f', number)
end
local function node(line)
  local number, ends, record = string.match(line, '^(%d+) (%d+) (.*)$')
  if number then
    return tonumber(number), tonumber(ends), record
  end
end
`

/**
 * Writes an entry: the log, the registers that it changes, the message to all gateways. It first asks whether it may: what a script
 * that fails halfway has written stays.
 *
 * ARGV: 1 format, 2 epoch for a new namespace, 3 mode, 4 command to publish with, 5 channel, 6 uuid, 7 mac, 8 body, 9 `retry` or empty,
 * 10 `order` or empty, 11 `verify` or empty, then for each register its key, version, uuid, content, and what is known of the line that
 * is stored: empty, or `+` (it is valid) or `-` (it is not, and stands for none) and its SHA-1.
 *
 * @returns `committed`, id or empty, gateways (id, number, ms left, record, …); or `stale`, keys and lines that the caller has to verify
 *   first; or `conflict`, keys; or `format`, the other format.
 */
export const COMMIT = script(`${OPENING}
local mode, publish, channel, uuid, mac, body = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local isRetry, hasOrder, verifies = ARGV[9] ~= '', ARGV[10] ~= '', ARGV[11] ~= ''

local function committed(id)
  local seen = {}
  local all = redis.call('HGETALL', nodes)
  for at = 1, #all, 2 do
    local number, ends, record = node(all[at + 1])
    if number then
      seen[#seen + 1] = all[at]
      seen[#seen + 1] = text(number)
      seen[#seen + 1] = text(ends - now)
      seen[#seen + 1] = record
    end
  end
  return {'committed', id, seen}
end

if isRetry then
  local to, looked = '+', 0
  repeat
    local rows = redis.call('XREVRANGE', log, to, '-', 'COUNT', 100)
    for _, row in ipairs(rows) do
      if row[2][1] == 'uuid' and row[2][2] == uuid then
        return committed(row[1])
      end
      to = '(' .. row[1]
    end
    looked = looked + #rows
  until #rows < 100 or looked >= ${RETRY_ENTRIES}
end

local writes, stale, conflicts, count, same, sameId = {}, {}, {}, 0, 0, ''
for at = 12, #ARGV, 5 do
  local key, version, own, known = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 4]
  local line = redis.call('HGET', state, key)
  local storedVersion, storedUuid, storedId
  local isVerified, isVoid = not verifies, false
  if line and known ~= '' and redis.sha1hex(line) == string.sub(known, 2) then
    isVerified = true
    isVoid = string.sub(known, 1, 1) == '-'
  end
  if line and not isVoid then
    storedVersion, storedUuid, storedId = string.match(line, '^(%d+) (%x+) (%S+) ')
    storedVersion = tonumber(storedVersion)
    isVoid = not storedVersion
  end
  local isWritten
  if not storedVersion then
    isWritten = mode == 'merge' or version == 1 or isVoid
  elseif mode == 'merge' then
    isWritten = storedVersion < version or storedVersion == version and storedUuid < own
  else
    isWritten = storedVersion == version - 1
  end
  count = count + 1
  if storedVersion == version and storedUuid == own then
    same, sameId = same + 1, storedId
  end
  if isWritten then
    writes[#writes + 1] = at
  elseif storedVersion and not isVerified then
    stale[#stale + 1] = key
    stale[#stale + 1] = line
  else
    conflicts[#conflicts + 1] = key
  end
end

if mode == 'edit' and count > 0 and same == count then
  return committed(sameId)
end
if #stale > 0 then
  return {'stale', stale}
end
if mode == 'edit' and #conflicts > 0 then
  return {'conflict', conflicts}
end
if mode == 'merge' and #writes == 0 and not hasOrder then
  return committed('')
end

for _, call in ipairs({{'XADD', log, '*', 'a', 'b'}, {'HSET', state, 'a', 'b'}, {'HGETALL', nodes}, {publish, channel, ''}}) do
  if not redis.acl_check_cmd(unpack(call)) then
    return redis.error_reply("NOPERM User has no permissions to run the '" .. string.lower(call[1]) .. "' command, or for what it names")
  end
end

local previous = redis.call('HGET', state, 'last') or '-'
local id = redis.call('XADD', log, 'MAXLEN', '~', ${LOG_ENTRIES}, '*', 'uuid', uuid, 'previous', previous, 'mac', mac, 'body', body)
for _, at in ipairs(writes) do
  redis.call('HSET', state, ARGV[at], ARGV[at + 1] .. ' ' .. ARGV[at + 2] .. ' ' .. id .. ' ' .. ARGV[at + 3])
end
redis.call('HSET', state, 'last', id, 'last-uuid', uuid)
redis.call(publish, channel, previous .. ' ' .. id .. ' ' .. mac .. ' ' .. body)
return committed(id)
`)

/**
 * Registers a gateway, or renews its lease.
 *
 * ARGV: 1 format, 2 epoch for a new namespace, 3 id, 4 the number that it has, 5 lease in ms, 6 record.
 *
 * @returns `beat`, number, time in ms, last id, epoch, gateways as {@link COMMIT} does; or `full`; or `format`, the other format.
 */
export const HEARTBEAT = script(`${OPENING}
local own, wanted, lease, record = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local taken, others, lapsed = {}, {}, nil
local all = redis.call('HGETALL', nodes)
for at = 1, #all, 2 do
  local id = all[at]
  local number, ends, text = node(all[at + 1])
  if id == own then
    wanted = number or wanted
  elseif not number or ends < now - ${FORGOTTEN_MS} then
    redis.call('HDEL', nodes, id)
  else
    taken[number] = id
    others[#others + 1] = {id, number, ends, text}
    if ends <= now and number <= ${HIGHEST_NUMBER} and (not lapsed or ends < lapsed[3]) then
      lapsed = others[#others]
    end
  end
end

local number = wanted
if number < 1 or number > ${HIGHEST_NUMBER} or taken[number] then
  number = 1
  while taken[number] do number = number + 1 end
end
local replaced
if number > ${HIGHEST_NUMBER} then
  if not lapsed then return {'full'} end
  replaced, number = lapsed[1], lapsed[2]
  redis.call('HDEL', nodes, replaced)
end
redis.call('HSET', nodes, own, text(number) .. ' ' .. text(now + lease) .. ' ' .. record)

local seen = {own, text(number), text(lease), record}
for _, other in ipairs(others) do
  if other[1] ~= replaced then
    seen[#seen + 1] = other[1]
    seen[#seen + 1] = text(other[2])
    seen[#seen + 1] = text(other[3] - now)
    seen[#seen + 1] = other[4]
  end
end
local facts = redis.call('HMGET', state, 'last', 'epoch')
return {'beat', text(number), text(now), facts[1] or '', facts[2] or '', seen}
`)

function script(body: string): Script {
  const text = HEAD + body
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
