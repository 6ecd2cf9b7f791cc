// Names, titles and reasons come from other people and are shown in somebody's terminal: nothing in them may move the
// cursor, colour what follows or turn the reading direction.

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const sequences = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
const direction = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** One line of harmless text. */
export function clean(text: string): string {
  return text
    .replace(sequences, '')
    .replace(/[\r\n\t\u2028\u2029]+/g, ' ')
    .replace(controls, '')
    .replace(direction, '');
}
