/** Reads names of faults, each with how often it strikes, `kill*50`, and spreads them evenly. */
export function planOf(text: string): string[] {
  return text
    .split(',')
    .filter(Boolean)
    .flatMap((part) => {
      const [name = '', times = '1'] = part.split('*')
      const count = Number(times)
      return Array.from({ length: count }, (_, at) => ({ name, place: (at + 0.5) / count }))
    })
    .toSorted((a, b) => a.place - b.place)
    .map(({ name }) => name)
}
