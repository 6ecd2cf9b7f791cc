// The text/event-stream form: bytes in, messages out. Follows the WHATWG rules we can meet (any line end, several data
// lines, comments); a message without data lines is not one.

export interface StreamMessage {
  readonly event: string;
  readonly data: string;
  /** The last id seen on the stream, this message's own or an earlier one. */
  readonly id: string | null;
}

/** One message of ours is far smaller; beyond this the other side is not well. */
const maxMessageChars = 16 * 1024 * 1024;

export class StreamParser {
  #decoder = new TextDecoder();
  #buffer = '';
  #data: string[] = [];
  #event = '';
  #id: string | null = null;

  /** Takes the next bytes and returns the messages they complete. */
  push(bytes: Uint8Array): StreamMessage[] {
    this.#buffer += this.#decoder.decode(bytes, { stream: true });
    if (this.#buffer.length > maxMessageChars) throw new Error('an event stream message is too long');
    const messages: StreamMessage[] = [];
    for (let line = this.#takeLine(); line !== null; line = this.#takeLine()) {
      const message = this.#line(line);
      if (message) messages.push(message);
    }
    return messages;
  }

  #takeLine(): string | null {
    const end = this.#buffer.search(/[\r\n]/);
    if (end < 0) return null;
    // A carriage return at the end of what we have may be half of a CR LF.
    if (this.#buffer[end] === '\r' && end === this.#buffer.length - 1) return null;
    const line = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end + (this.#buffer.startsWith('\r\n', end) ? 2 : 1));
    return line;
  }

  #line(line: string): StreamMessage | null {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }

  #dispatch(): StreamMessage | null {
    const message =
      this.#data.length === 0
        ? null
        : { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
    this.#data = [];
    this.#event = '';
    return message;
  }
}
