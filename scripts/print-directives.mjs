// Prints docs/directives.md from the table of directives: node scripts/print-directives.mjs > docs/directives.md
import { tsImport } from 'tsx/esm/api'

const { directivesManual } = await tsImport('../server/config/manual.ts', import.meta.url)
process.stdout.write(directivesManual())
