/** A section of INFO: its title, and its fields in order. */
export interface InfoSection {
  readonly title: string
  readonly fields: readonly (readonly [name: string, value: string])[]
}

/** Reads the reply of INFO. */
export function parseInfo(text: string): readonly InfoSection[] {
  const sections: { title: string; fields: [string, string][] }[] = []
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('# ')) {
      sections.push({ title: line.slice(2), fields: [] })
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0) sections.at(-1)?.fields.push([line.slice(0, colon), line.slice(colon + 1)])
  }
  return sections
}

/** All fields of INFO by name; names are unique over sections. */
export function infoFields(sections: readonly InfoSection[]): ReadonlyMap<string, string> {
  return new Map(sections.flatMap(({ fields }) => fields))
}
