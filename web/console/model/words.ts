/** Splits what was typed into the words of a command. Quotes, single or double, keep blanks together. */
export function splitWords(text: string): string[] {
  const words = text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)
  return Array.from(words, ([, double, single, plain]) => double ?? single ?? plain ?? '')
}
