/**
 * The element of an id.
 *
 * @throws {TypeError} If the page has none, or one of another type: page and script belong together.
 */
export function byId<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new TypeError(`The page has no ${type.name} #${id}`)
  return element
}

/** Properties of a new element. */
interface ElementParts {
  readonly className?: string
  readonly text?: string
  /** Attributes `data-*`, in camel case without the prefix. */
  readonly data?: Readonly<Record<string, string>>
}

/** Makes an element. Text is set as text, never as markup. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  parts: ElementParts = {},
  ...children: readonly Node[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  if (parts.className !== undefined) element.className = parts.className
  if (parts.text !== undefined) element.textContent = parts.text
  Object.assign(element.dataset, parts.data)
  element.append(...children)
  return element
}
