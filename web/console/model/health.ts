/** What `/readyz` says. */
export interface Readiness {
  readonly ready: boolean
  /** Why not, one sentence each. */
  readonly problems: readonly string[]
}

/**
 * Asks the admin listener whether the server is ready, as an orchestrator does.
 *
 * @throws {Error} If there is no answer that can be read.
 */
export async function loadReadiness(): Promise<Readiness> {
  const response = await fetch('./readyz', { cache: 'no-store' })
  const body: unknown = await response.json()
  const problems =
    typeof body === 'object' && body !== null && 'problems' in body && Array.isArray(body.problems)
      ? body.problems.map(String)
      : []
  return { ready: response.ok, problems }
}
