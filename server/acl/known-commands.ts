import type { CommandSource } from './catalog.ts'
import { CATEGORIES, type Category } from './categories.ts'

/**
 * Commands by their ACL categories: a line of categories that ends in a colon, then the names that have just
 * these. Taken from the answers of Redis 7.0 and Valkey 8.0 to COMMAND, with the additions of Redis 7.4 and 8.0
 * (hash-field expiry, vector sets) and of Valkey 8.1, 9.0 and 9.1 (COMMANDLOG, slot migration).
 */
const TABLE = `
keyspace read fast:
  dbsize exists expiretime pexpiretime pttl touch ttl type
keyspace read slow:
  clusterscan dump object|encoding object|freq object|idletime object|refcount randomkey scan
keyspace read slow dangerous:
  keys
keyspace write admin slow dangerous:
  cluster|flushslot
keyspace write fast:
  expire expireat move persist pexpire pexpireat renamenx unlink
keyspace write fast dangerous:
  swapdb
keyspace write slow:
  copy del rename
keyspace write slow dangerous:
  flushall flushdb migrate restore restore-asking
keyspace slow:
  object|help
read set sortedset list slow dangerous:
  sort_ro
read set fast:
  scard sismember smismember
read set slow:
  sdiff sinter sintercard smembers srandmember sscan sunion
read sortedset fast:
  zcard zcount zlexcount zmscore zrank zrevrank zscore
read sortedset slow:
  zdiff zinter zintercard zrandmember zrange zrangebylex zrangebyscore zrevrange zrevrangebylex
  zrevrangebyscore zscan zunion
read list fast:
  llen
read list slow:
  lindex lpos lrange
read hash fast:
  hexists hexpiretime hget hlen hmget hpexpiretime hpttl hstrlen httl
read hash slow:
  hgetall hkeys hrandfield hscan hvals
read string fast:
  get mget strlen
read string slow:
  getrange lcs substr
read bitmap fast:
  bitfield_ro getbit
read bitmap slow:
  bitcount bitpos
read hyperloglog slow:
  pfcount
read geo slow:
  geodist geohash geopos georadius_ro georadiusbymember_ro geosearch
read stream fast:
  xlen
read stream slow:
  xinfo|consumers xinfo|groups xinfo|stream xpending xrange xrevrange
read stream slow blocking:
  xread
read fast:
  lolwut vcard vdim vemb vgetattr vinfo vlinks
read slow:
  memory|usage vrandmember vsim
write set sortedset list slow dangerous:
  sort
write set fast:
  sadd smove spop srem
write set slow:
  sdiffstore sinterstore sunionstore
write sortedset fast:
  zadd zincrby zpopmax zpopmin zrem
write sortedset fast blocking:
  bzpopmax bzpopmin
write sortedset slow:
  zdiffstore zinterstore zmpop zrangestore zremrangebylex zremrangebyrank zremrangebyscore
  zunionstore
write sortedset slow blocking:
  bzmpop
write list fast:
  lpop lpush lpushx rpop rpush rpushx
write list slow:
  linsert lmove lmpop lrem lset ltrim rpoplpush
write list slow blocking:
  blmove blmpop blpop brpop brpoplpush
write hash fast:
  hdel hexpire hexpireat hgetdel hgetex hincrby hincrbyfloat hmset hpersist hpexpire hpexpireat
  hset hsetex hsetnx
write string fast:
  append decr decrby getdel getex getset incr incrby incrbyfloat setnx
write string slow:
  delifeq mset msetex msetnx psetex set setex setrange
write bitmap slow:
  bitfield bitop setbit
write hyperloglog admin slow dangerous:
  pfdebug
write hyperloglog fast:
  pfadd
write hyperloglog slow:
  pfmerge
write geo slow:
  geoadd georadius georadiusbymember geosearchstore
write stream fast:
  xack xadd xautoclaim xclaim xdel xsetid
write stream slow:
  xgroup|create xgroup|createconsumer xgroup|delconsumer xgroup|destroy xgroup|setid xtrim
write stream slow blocking:
  xreadgroup
write fast:
  vsetattr
write slow:
  vadd vrem
write slow scripting:
  function|delete function|flush function|load function|restore
hyperloglog admin slow dangerous:
  pfselftest
stream slow:
  xgroup|help xinfo|help
pubsub fast:
  publish spublish
pubsub slow:
  psubscribe pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub
  punsubscribe ssubscribe subscribe sunsubscribe unsubscribe
admin fast dangerous:
  lastsave role
admin slow dangerous:
  acl|deluser acl|dryrun acl|getuser acl|list acl|load acl|log acl|save acl|setuser acl|users
  bgrewriteaof bgsave cluster|addslots cluster|addslotsrange cluster|bumpepoch
  cluster|cancelslotmigrations cluster|count-failure-reports cluster|delslots
  cluster|delslotsrange cluster|failover cluster|flushslots cluster|forget
  cluster|getslotmigrations cluster|meet cluster|migrateslots cluster|replicas cluster|replicate
  cluster|reset cluster|saveconfig cluster|set-config-epoch cluster|setslot cluster|slaves
  cluster|syncslots commandlog|get commandlog|len commandlog|reset config|get config|resetstat
  config|rewrite config|set debug failover latency|doctor latency|graph latency|histogram
  latency|history latency|latest latency|reset module|list module|load module|loadex module|unload
  monitor psync replconf replicaof save shutdown slaveof slowlog|get slowlog|len slowlog|reset
  sync
admin slow dangerous connection:
  client|kill client|list client|no-evict client|pause client|unblock client|unpause
fast:
  time
fast connection:
  asking auth echo hello ping quit readonly readwrite reset select
fast transaction:
  discard multi unwatch watch
slow:
  acl acl|cat acl|genpass acl|help acl|whoami client cluster cluster|countkeysinslot
  cluster|getkeysinslot cluster|help cluster|info cluster|keyslot cluster|links cluster|myid
  cluster|myshardid cluster|nodes cluster|shards cluster|slot-stats cluster|slots commandlog
  commandlog|help config config|help function latency latency|help memory memory|doctor
  memory|help memory|malloc-stats memory|purge memory|stats module module|help object pubsub
  pubsub|help script slowlog slowlog|help xgroup xinfo
slow blocking connection:
  wait waitaof
slow dangerous:
  info
slow connection:
  client|caching client|capa client|getname client|getredir client|help client|id
  client|import-source client|info client|no-touch client|reply client|setinfo client|setname
  client|tracking client|trackinginfo command command|count command|docs command|getkeys
  command|getkeysandflags command|help command|info command|list
slow transaction:
  exec
slow scripting:
  eval eval_ro evalsha evalsha_ro fcall fcall_ro function|dump function|help function|kill
  function|list function|stats script|debug script|exists script|flush script|help script|kill
  script|load script|show
`

/**
 * Every command and subcommand that an ACL rule of Redis 8.0 or Valkey 9.1 can name, so that rules written for
 * them (`+get`, `+@string`, `-debug`) load here and are described as they came. Containers such as `client`
 * are among them. The server's own command table overrides an entry of the same name.
 */
export const KNOWN_COMMANDS: readonly CommandSource[] = parseTable(TABLE)

function parseTable(table: string): CommandSource[] {
  const commands: CommandSource[] = []
  let categories: readonly Category[] = []
  for (const line of table.split('\n')) {
    if (line.endsWith(':')) {
      const listed = line.slice(0, -1).split(' ')
      categories = CATEGORIES.filter((category) => listed.includes(category))
    } else {
      for (const name of line.split(' ')) if (name !== '') commands.push({ name, categories })
    }
  }
  return commands
}
