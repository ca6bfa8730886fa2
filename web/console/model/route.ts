import { computed, signal } from '@preact/signals'

/** Where the page is: the part of the address behind `#/`. */
export interface Route {
  /** The name of a view. */
  readonly view: string
  readonly parameters: URLSearchParams
}

const hash = signal(location.hash)
window.addEventListener('hashchange', () => {
  hash.value = location.hash
})

/** The route of now. */
export const route = computed<Route>(() => {
  const [view = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  return { view, parameters: new URLSearchParams(query) }
})

/** The address of a view. */
export function linkTo(view: string, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(parameters).toString()
  return query === '' ? `#/${view}` : `#/${view}?${query}`
}

/** Leaves a view, unless that has happened already: the address may be ahead of {@link route}, which hears of it later. */
export function leave(
  view: string,
  parameters: Readonly<Record<string, string>>,
  to: string,
): void {
  if (location.hash === linkTo(view, parameters)) go(to)
}

/** Goes to a view. */
export function go(view: string, parameters: Readonly<Record<string, string>> = {}): void {
  location.hash = linkTo(view, parameters)
}
