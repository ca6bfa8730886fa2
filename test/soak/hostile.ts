/** Process of the hostile peers: all attacks at once, each over and over, until its input ends. Then it prints the rounds of each. */
import { Dice } from '../fuzz/dice.ts'
import { ATTACKS, type Scene } from './attacks.ts'

/** Least time between two rounds of an attack, in ms. */
const PAUSE_MS = 20

const scene = JSON.parse(process.argv[2] ?? '{}') as Omit<Scene, 'dice'> & {
  readonly seed: number
  readonly only: string
}
process.stdout.write('ready')
process.stdin.resume()

const rounds = await Promise.all(
  Object.entries(ATTACKS)
    .filter(([name]) => name.includes(scene.only))
    .map(async ([name, attack], at): Promise<[string, number]> => {
      const dice = new Dice(scene.seed + at)
      let count = 0
      while (!process.stdin.readableEnded) {
        await attack({ ...scene, dice })
        count++
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      }
      return [name, count]
    }),
)
process.stdout.write(JSON.stringify(Object.fromEntries(rounds)), () => process.exit(0))
