import manual from '../../../docs/directives.md?raw'

/** A directive as docs/directives.md describes it. */
interface Directive {
  /** `yes, no`, `seconds, 0 to ...`. */
  readonly type: string
  readonly initial: string
  /** `live`: CONFIG SET changes it at once; `kept`: it stores it; `start`, `fixed`: it does not. */
  readonly change: string
  readonly meaning: string
}

/** A row of the manual's tables. A bar within a cell is escaped. */
const ROW = /^\| `([^`]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*) \|$/

/** The manual of directives at the time of the build, which is that of the server. */
export const DIRECTIVES: ReadonlyMap<string, Directive> = new Map(
  manual.split('\n').flatMap((line) => {
    const [, name, type = '', initial = '', change = '', meaning = ''] = ROW.exec(line) ?? []
    if (name === undefined) return []
    const plain = (cell: string): string => cell.replaceAll(/[`]/g, '').replaceAll(/\\(.)/g, '$1')
    return [
      [
        name,
        {
          type: plain(type),
          initial: plain(initial),
          change: plain(change),
          meaning: plain(meaning),
        },
      ],
    ]
  }),
)

/** Reports whether CONFIG SET accepts a directive. The server decides about directives that the manual does not list. */
export function isEditable(name: string): boolean {
  const change = DIRECTIVES.get(name)?.change
  return change === undefined || change === 'live' || change === 'kept'
}
