import { commandText } from '../model/command-text.ts'
import type { Command } from '../model/command.ts'

/** So many commands are written out. */
const MAX_SHOWN = 8

/** Commands as they would be typed into redis-cli. */
export function CommandList({ commands }: { readonly commands: readonly Command[] }) {
  const texts = commands.slice(0, MAX_SHOWN).map((command) => commandText(command))
  if (commands.length > MAX_SHOWN) texts.push(`... and ${commands.length - MAX_SHOWN} more`)
  return (
    <pre class="commands" tabindex={0} aria-label="Commands" data-testid="commands">
      {texts.join('\n')}
    </pre>
  )
}
