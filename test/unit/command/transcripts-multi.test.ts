import { describe } from 'vitest'
import { testTranscript } from '../../support/test-transcript.ts'

describe('Transactions', () => {
  testTranscript(
    'Errors of transactions',
    String.raw`
      C: MULTI
      S: +OK\r\n
      C: MULTI
      S: -ERR MULTI calls can not be nested\r\n
      C: FOO
      S: -ERR unknown command 'FOO', with args beginning with: \r\n
      C: PING a b c
      S: +QUEUED\r\n
      C: EXEC
      S: -EXECABORT Transaction discarded because of previous errors.\r\n
      C: EXEC
      S: -ERR EXEC without MULTI\r\n
      C: DISCARD
      S: -ERR DISCARD without MULTI\r\n
      C: MULTI
      S: +OK\r\n
      C: ECHO
      S: -ERR wrong number of arguments for 'echo' command\r\n
      C: EXEC
      S: -EXECABORT Transaction discarded because of previous errors.\r\n
      C: MULTI
      S: +OK\r\n
      C: WATCH a
      S: -ERR WATCH inside MULTI is not allowed\r\n
      C: EXEC
      S: *0\r\n
      C: MULTI
      S: +OK\r\n
      C: EXEC
      S: *0\r\n
      C: MULTI
      S: +OK\r\n
      C: DISCARD
      S: +OK\r\n
      C: UNWATCH
      S: +OK\r\n
      C: MULTI
      S: +OK\r\n
      C: EXEC a
      S: -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n
      C: EXEC
      S: -ERR EXEC without MULTI\r\n
    `,
  )

  testTranscript(
    'A command that no transaction may hold',
    String.raw`
      C: MULTI
      S: +OK\r\n
      C: SHUTDOWN
      S: -ERR Command not allowed inside a transaction\r\n
      C: EXEC
      S: -EXECABORT Transaction discarded because of previous errors.\r\n
    `,
  )
})
