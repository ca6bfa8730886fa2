export { TestServer } from './test-server.ts'
export type { PublishedMessage, TestServerOptions } from './test-server.ts'
