const ROWS = 13
const COLUMNS = 53

/** A row of text is about twice as high as a column is wide. */
const ROW_HEIGHT = 2.1

const SHADES = ' .:-=+*#'

/** LOLWUT: the rings that messages make around their publishers, and the version in the last line. */
export function lolwutText(seconds: number, version: string): string {
  const rows: string[] = []
  for (let row = 0; row < ROWS; row++) {
    let line = ''
    for (let column = 0; column < COLUMNS; column++)
      line += shade(column, row * ROW_HEIGHT, seconds)
    rows.push(line.trimEnd())
  }
  return `${rows.join('\n')}\n\nRedis ver. ${version}\n`
}

function shade(x: number, y: number, seconds: number): string {
  const height =
    wave(x - COLUMNS * 0.3, y - 9, seconds) + wave(x - COLUMNS * 0.78, y - 17, seconds * 1.3)
  const level = Math.round(((height + 2) / 4) * (SHADES.length - 1))
  return SHADES[level] ?? ' '
}

/** Height of a wave at a place, from -1 to 1: it runs outwards and fades. */
function wave(x: number, y: number, seconds: number): number {
  const distance = Math.hypot(x, y)
  return Math.cos(distance * 0.9 - seconds) * Math.exp(-distance / 24)
}
