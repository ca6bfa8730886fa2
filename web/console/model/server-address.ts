/** Where the server's WebSocket is, if it does not say. */
const USUAL_PATH = '/ws'

/** The address of the WebSocket beside the page, wherever a proxy put both; its path is what `ws-path` says. */
export async function webSocketUrl(): Promise<string> {
  const url = new URL(`.${await webSocketPath()}`, location.href)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

async function webSocketPath(): Promise<string> {
  try {
    const response = await fetch('./console.json')
    const settings: unknown = await response.json()
    if (typeof settings === 'object' && settings !== null && 'webSocketPath' in settings) {
      return String(settings.webSocketPath)
    }
  } catch {
    // The login says what is wrong when the WebSocket does not open either.
  }
  return USUAL_PATH
}
