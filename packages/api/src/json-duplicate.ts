// Finds the first key that an object in a text of valid JSON has twice, for the sentence that refuses it. Only called
// when the counts already say that there is one.

interface Frame {
  readonly keys: Set<string> | null;
  name: string;
  index: number;
}

/** Where the repeated key is, or null when there is none. */
export function duplicateKey(text: string): (string | number)[] | null {
  const frames: Frame[] = [];
  let expectKey = false;
  for (let i = 0; i < text.length; i++) {
    const top = frames.at(-1);
    switch (text[i]) {
      case '{':
        frames.push({ keys: new Set(), name: '', index: 0 });
        expectKey = true;
        break;
      case '[':
        frames.push({ keys: null, name: '', index: 0 });
        expectKey = false;
        break;
      case '}':
      case ']':
        frames.pop();
        expectKey = false;
        break;
      case ',':
        if (top) top.index++;
        expectKey = top?.keys !== null;
        break;
      case '"': {
        const end = stringEnd(text, i);
        if (expectKey && top?.keys) {
          top.name = JSON.parse(text.slice(i, end + 1)) as string;
          if (top.keys.has(top.name)) return pathOf(frames);
          top.keys.add(top.name);
          expectKey = false;
        }
        i = end;
      }
    }
  }
  return null;
}

function stringEnd(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}

function pathOf(frames: readonly Frame[]): (string | number)[] {
  return frames.map((frame) => (frame.keys ? frame.name : frame.index));
}
