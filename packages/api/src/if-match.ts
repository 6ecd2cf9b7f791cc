// Versions as entity tags: a change is made only on top of what its maker saw.
import { refuse } from './problem.ts';
import { type Call, header } from './route.ts';

const entityTag = /^(W\/)?"([\x21\x23-\x7e]*)"$/;

/** The versions that If-Match names, for the store to look at under a lock; undefined when any will do. */
export function ifMatch(call: Call): readonly number[] | undefined {
  const wanted = header(call, 'if-match');
  if (wanted === null || wanted === '*') return undefined;
  const tags = wanted.split(',').map((tag) => entityTag.exec(tag.trim()));
  if (tags.includes(null))
    throw refuse('bad-request', 'the header If-Match is not valid: send an ETag as it was given, or *');
  // A weak tag never matches, and what is no number was never a version.
  return tags.flatMap((tag) =>
    tag && !tag[1] && /^[1-9]\d{0,14}$/.test(tag[2] ?? '') ? [Number(tag[2])] : [],
  );
}
