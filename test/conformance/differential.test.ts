import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOracle } from '../support/oracle.ts'
import { Pair, play } from './differential.ts'
import { ACL_SCRIPTS } from './scripts-acl.ts'
import { CONNECTION_SCRIPTS } from './scripts-connection.ts'
import { PROTOCOL_SCRIPTS } from './scripts-protocol.ts'
import { PUBSUB_SCRIPTS } from './scripts-pubsub.ts'
import { SERVER_SCRIPTS } from './scripts-server.ts'
import { TRANSACTION_SCRIPTS } from './scripts-transaction.ts'

const oracle = await openOracle()

const FAMILIES = {
  'Pub/Sub': PUBSUB_SCRIPTS,
  transactions: TRANSACTION_SCRIPTS,
  connections: CONNECTION_SCRIPTS,
  'the protocol': PROTOCOL_SCRIPTS,
  ACL: ACL_SCRIPTS,
  'the server': SERVER_SCRIPTS,
}

describe.skipIf(oracle === undefined)('the same bytes bring the same answers as from Redis', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  for (const [family, scripts] of Object.entries(FAMILIES)) {
    describe(family, () => {
      for (const script of scripts) {
        test(script.title, async () => {
          expect(await play(pair, script)).toBeUndefined()
        })
      }
    })
  }
})
