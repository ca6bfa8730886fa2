/** The reply of HELLO to a client with this id, in a protocol. */
export function helloReply(protocol: 2 | 3, id: number): string {
  return (
    `${protocol === 2 ? '*14' : '%7'}\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.0.6\r\n` +
    `$5\r\nproto\r\n:${protocol}\r\n$2\r\nid\r\n:${id}\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n` +
    '$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n'
  )
}
