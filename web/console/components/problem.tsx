import { messageOf } from '../model/messages.ts'
import { RespcastError } from '../../client/index.ts'
import { ShapeError } from '../model/reply.ts'

/** Message about an error, with a hint. Shows nothing without an error. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error === undefined) return null
  const [title, hint] = explain(error)
  const detail = messageOf(error)
  return (
    <div class="problem" role="alert" data-testid="problem">
      <strong>{title}</strong> {hint}
      {detail !== '' && <code>{detail}</code>}
    </div>
  )
}

function explain(error: unknown): readonly [title: string, hint: string] {
  if (error instanceof ShapeError) {
    return ['Unexpected reply.', 'The console and the server may be of different versions.']
  }
  if (!(error instanceof RespcastError)) return ['That did not work.', '']
  if (error.code === 'ERR_NOT_ONLINE' || error.code === 'ERR_LOST') {
    return ['No connection.', 'The console connects again by itself.']
  }
  if (error.prefix === 'NOPERM') {
    return ['Not permitted.', 'The user that you logged in as may not run this command.']
  }
  if (error.prefix === 'NOREPLICAS') {
    return ['Not confirmed by all gateways.', 'The answer says where it is in force.']
  }
  if (error.prefix === 'TRYAGAIN')
    return ['Not now.', 'The answer says whether anything has changed.']
  return ['Refused.', '']
}
