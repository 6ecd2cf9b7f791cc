// What a job writes, made safe for a terminal: colours, tabs, line ends, carriage returns and backspaces pass; every
// other escape sequence and control character goes, because it could retitle the window, write to the clipboard or
// hide what was printed. Works on a stream: sequences may be cut anywhere. Used only when stdout is a terminal;
// files and pipes get the bytes as they are.

type State = 'text' | 'escape' | 'csi' | 'string' | 'string-escape';

/** Longer ones are no colours; whoever sends them is not waited for. */
const maxSequence = 64;

export class OutputFilter {
  #decoder = new TextDecoder('utf-8');
  #state: State = 'text';
  #sequence = '';

  push(bytes: Uint8Array): string {
    return this.#filter(this.#decoder.decode(bytes, { stream: true }));
  }

  end(): string {
    return this.#filter(this.#decoder.decode());
  }

  #filter(text: string): string {
    let out = '';
    for (const char of text) out += this.#char(char);
    return out;
  }

  #char(char: string): string {
    const code = char.codePointAt(0) ?? 0;
    switch (this.#state) {
      case 'text':
        if (code === 0x1b) this.#state = 'escape';
        else if (code === 0x9b) this.#begin();
        else if (code === 0x90 || (code >= 0x98 && code <= 0x9f && code !== 0x99)) this.#state = 'string';
        else return isHarmless(code) ? char : '';
        return '';
      case 'escape':
        if (char === '[') this.#begin();
        else if (']PX^_'.includes(char)) this.#state = 'string';
        // ESC with intermediates (charset choice): the final character ends it.
        else if (code >= 0x20 && code <= 0x2f) return '';
        else return this.#leave(code);
        return '';
      case 'csi':
        return this.#csi(char, code);
      case 'string':
        if (code === 0x07 || code === 0x9c || code === 0x0a) this.#state = 'text';
        else if (code === 0x1b) this.#state = 'string-escape';
        return code === 0x0a ? char : '';
      case 'string-escape':
        this.#state = 'text';
        return char === '\\' ? '' : this.#char(char);
    }
  }

  #begin(): void {
    this.#state = 'csi';
    this.#sequence = '';
  }

  #leave(code: number): string {
    this.#state = code === 0x1b ? 'escape' : 'text';
    return code === 0x0a || code === 0x0d ? String.fromCodePoint(code) : '';
  }

  #csi(char: string, code: number): string {
    if (code >= 0x20 && code <= 0x3f) {
      this.#sequence += char;
      if (this.#sequence.length > maxSequence) this.#state = 'text';
      return '';
    }
    if (code < 0x40 || code > 0x7e) return this.#leave(code);
    this.#state = 'text';
    return char === 'm' && /^[0-9;:]*$/.test(this.#sequence) ? `\x1b[${this.#sequence}m` : '';
  }
}

function isHarmless(code: number): boolean {
  if (code === 0x09 || code === 0x0a || code === 0x0d || code === 0x08) return true;
  return code >= 0x20 && !(code >= 0x7f && code <= 0x9f);
}
