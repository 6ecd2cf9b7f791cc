// The key with which a client sends a submit again without making a second job.
const pattern = /^[\x21-\x7e]{1,200}$/;

export const idempotencyKeyRule = 'an idempotency key is 1 to 200 visible ASCII characters';

export function isIdempotencyKey(text: string): boolean {
  return pattern.test(text);
}
