import { describe, expect, test } from 'vitest'
import {
  ADMIN_PLACES,
  filesBudget,
  filesNeeded,
  fitOpenFiles,
  openFilesLimit,
} from '../../../server/config/open-files.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { settingsOf } from '../../support/settings.ts'

const DEFAULTS = { httpConnections: 1_024, adminConnections: 64, usesTls: false }

describe('The limit of open files', () => {
  test.each([
    [128, { maxClients: 24, httpConnections: 8, adminConnections: 4 }],
    [1_024, { maxClients: 584, httpConnections: 120, adminConnections: 60 }],
    [4_096, { maxClients: 2_880, httpConnections: 504, adminConnections: 64 }],
    [65_536, { maxClients: 63_280, httpConnections: 1_024, adminConnections: 64 }],
  ])('of %d is split', (files, budget) => {
    expect(filesBudget(files, DEFAULTS)).toEqual(budget)
  })

  test('leaves room for handshakes of TLS', () => {
    const without = filesBudget(65_536, DEFAULTS).maxClients
    expect(filesBudget(65_536, { ...DEFAULTS, usesTls: true }).maxClients).toBe(without - 128)
  })

  test.each([128, 150, 200, 1_000, 5_000])('of %d is never exceeded by all together', (files) => {
    const budget = filesBudget(files, { ...DEFAULTS, usesTls: true })
    const http = budget.httpConnections + budget.adminConnections
    const handshakes = Math.floor((files - 64) / 16)
    expect(budget.maxClients + ADMIN_PLACES + http * 2 + Math.min(128, handshakes) + 64).toBe(files)
  })

  test('of this process is known where /proc is', () => {
    const limit = openFilesLimit()
    if (process.platform === 'linux') expect(limit).toBeGreaterThan(100)
    else expect(limit === undefined || limit > 0).toBe(true)
  })
})

describe('Too few open files', () => {
  test('lower maxclients, in the words of Redis', () => {
    const config = settingsOf({})
    expect(fitOpenFiles(config, 1_024)).toBe(
      'You requested maxclients of 10000 requiring at least 12256 max file descriptors. Current maximum open files is ' +
        '1024. maxclients has been reduced to 584 to compensate for low ulimit. If you need higher maxclients ' +
        "increase 'ulimit -n'.",
    )
    expect(config.get(['maxclients', 'http-max-connections', 'admin-max-connections'])).toEqual([
      ['maxclients', '584'],
      ['http-max-connections', '120'],
      ['admin-max-connections', '60'],
    ])
  })

  test('refuse a higher maxclients, in the words of Redis, and no lower one', () => {
    const config = settingsOf({})
    fitOpenFiles(config, 1_024)
    expect(config.set([['maxclients', '585']])).toBe(
      "CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the " +
        'specified number of clients, try with 584',
    )
    expect(config.set([['maxclients', '10']])).toBeUndefined()
    expect(config.set([['maxclients', '584']])).toBeUndefined()
  })

  test('lower it again when the configuration is read again', () => {
    const config = settingsOf({})
    fitOpenFiles(config, 1_024)
    const loaded = loadConfig({ argv: ['--maxclients', '20000'], env: {}, cwd: '/' })
    expect(config.reload(loaded)).toMatchObject({ atNextStart: [] })
    expect(config.integer('maxclients')).toBe(584)
  })

  test('are too few to start', () => {
    expect(() => fitOpenFiles(settingsOf({}), 127)).toThrow(
      /maxclients: .* is 127, which is not enough to start. Increase it to at least 128./,
    )
  })
})

test('Enough open files change nothing', () => {
  const config = settingsOf({ maxclients: '500' })
  expect(fitOpenFiles(config, filesNeeded(config))).toBeUndefined()
  expect(config.integer('maxclients')).toBe(500)
})
