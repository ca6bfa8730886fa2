import { render } from 'preact'
import { App } from './app/shell.tsx'

render(<App />, document.getElementById('root') as HTMLElement)
