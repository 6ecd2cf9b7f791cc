import { problemCodes } from '@muster/model';
import { code, page, table } from './markdown.ts';

export function errorsPage(): string {
  const rows = Object.entries(problemCodes)
    .sort(([, a], [, b]) => a.status - b.status)
    .map(([name, { status, title }]) => [code(name), String(status), title]);
  return page(
    'Errors',
    [
      'The API answers errors as `application/problem+json` with `type`, `title`, `status`, `code`, `detail` and, for errors in a body, `errors`: one entry for each wrong field with its JSON pointer (`path`), `code`, `message` and the offending value, clipped.',
      'Codes and statuses are stable. `outcome-unknown` means that the write may have taken effect: look, for example by submitting again with the same idempotency key.',
    ].join(' '),
    table(['code', 'status', 'meaning'], rows),
  );
}
