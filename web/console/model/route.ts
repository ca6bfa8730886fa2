import { computed, signal } from '@preact/signals'

/** The current place in the page: the part of the address after `#/`. */
interface Route {
  /** The name of a view. */
  readonly view: string
  readonly parameters: URLSearchParams
}

const hash = signal(location.hash)
window.addEventListener('hashchange', () => {
  hash.value = location.hash
})

/** The current route. */
export const route = computed<Route>(() => {
  const [view = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  return { view, parameters: new URLSearchParams(query) }
})

/** The address of a view. */
export function linkTo(view: string, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(parameters).toString()
  return query === '' ? `#/${view}` : `#/${view}?${query}`
}

/** Leaves a view, unless that has already happened: {@link route} follows the address with a delay. */
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
