import type { Request } from '../resp/request.ts'

/** Directives whose value is a secret: CONFIG SET hides it. */
export const SECRET_DIRECTIVES: ReadonlySet<string> = new Set([
  'hash-seed',
  'issuer',
  'jwt-previous-secret',
  'jwt-secret',
  'masterauth',
  'masteruser',
  'primaryauth',
  'primaryuser',
  'requirepass',
  'tls-client-key-file-pass',
  'tls-key-file-pass',
  'user',
])

/** AUTH: user and password. */
export function isSecretOfAuth(_request: Request, index: number): boolean {
  return index >= 1
}

/** HELLO ... AUTH user password. */
export function isSecretOfHello(request: Request, index: number): boolean {
  const follows = (distance: number): boolean =>
    index - distance >= 2 && request.text(index - distance).toLowerCase() === 'auth'
  return follows(1) || follows(2)
}

/** ACL SETUSER, GETUSER and DELUSER: the user's name and all rules. */
export function isSecretOfUser(_request: Request, index: number): boolean {
  return index >= 2
}

/** CONFIG SET name value ...: the value of a directive that holds a secret. */
export function isSecretOfConfigSet(request: Request, index: number): boolean {
  const isValue = index >= 3 && index % 2 === 1
  return isValue && SECRET_DIRECTIVES.has(request.text(index - 1).toLowerCase())
}
