/** The field that narrows a table; the key `/` leads to it. */
export function FilterBox(props: {
  readonly value: string
  readonly label: string
  /** How much is left of how much. */
  readonly shown: number
  readonly total: number
  readonly onInput: (value: string) => void
}) {
  const count = props.total.toLocaleString('en')
  return (
    <div class="filter">
      <input
        type="search"
        data-filter
        aria-label={props.label}
        placeholder={props.label}
        value={props.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      <span class="quiet" role="status">
        {props.shown === props.total ? count : `${props.shown.toLocaleString('en')} of ${count}`}
      </span>
    </div>
  )
}

/** Whether any of some texts contains each word of a filter, in whatever case. */
export function matchesFilter(filter: string, texts: readonly string[]): boolean {
  const words = filter.toLowerCase().split(/\s+/)
  const text = texts.join('\n').toLowerCase()
  return words.every((word) => text.includes(word))
}
