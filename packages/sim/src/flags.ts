// The flags of the programs of this package, which developers call by `npm run`.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { nearest } from '@muster/model';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

/** Tells what is wrong and how it is called, and ends with 2; `--help` tells the second and ends with 0. */
export function readFlags<O extends Options>(usage: string, options: O): Values<O> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage);
    process.exit(0);
  }
  const unknown = args.find((arg) => arg.startsWith('--') && !(arg.slice(2).split('=')[0]! in options));
  if (unknown !== undefined) {
    const near = nearest(unknown.slice(2), Object.keys(options));
    calledWrongly(`there is no flag ${unknown}${near ? `; did you mean --${near}?` : ''}`, usage);
  }
  try {
    return parseArgs({ args, options }).values as Values<O>;
  } catch (error) {
    return calledWrongly((error as Error).message, usage);
  }
}

export function wholeNumber(flag: string, text: string, usage: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    return calledWrongly(`${flag} wants a whole number above zero, got "${text}"`, usage);
  return Number(text);
}

function calledWrongly(what: string, usage: string): never {
  console.error(`${what}\n\n${usage}`);
  process.exit(2);
}
