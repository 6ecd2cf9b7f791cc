// JSON objects, one a line, over a stream. Both ends are ours, so a line that does not parse is a bug and ends the stream.
import type { Socket } from 'node:net';

export function onLines<T>(socket: Socket, handle: (message: T) => void): void {
  let parts: string[] = [];
  socket.setEncoding('utf8');
  socket.on('data', (chunk: unknown) => {
    let text = chunk as string;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      parts.push(text.slice(0, at));
      text = text.slice(at + 1);
      const line = parts.join('');
      parts = [];
      if (line !== '') handle(JSON.parse(line) as T);
    }
    if (text !== '') parts.push(text);
  });
}

export function sendLine(socket: Socket, message: unknown): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
}
