// What stands on the command line: the benchmark, the switches that all have, and the options that only some have.
import { nearest } from '@muster/model';
import { CalledWrongly } from './called-wrongly.ts';

/** An option with a value, such as `--dir DIR`; one without is a switch, such as `--scale`. */
export interface ValueOption {
  readonly flag: string;
  readonly value: string | null;
  readonly about: string;
}

export interface Called {
  readonly json: boolean;
  readonly quick: boolean;
  /** By flag; what was not given is not there, and a switch has an empty value. */
  readonly values: ReadonlyMap<string, string>;
}

const switches = ['--json', '--quick'] as const;

export function parseOptions(args: readonly string[], options: readonly ValueOption[]): Called {
  const values = new Map<string, string>();
  const known = [...switches, ...options.map(({ flag }) => flag)];
  let json = false;
  let quick = false;
  for (let i = 0; i < args.length; i++) {
    const [flag = '', ...rest] = args[i]!.split('=');
    const given = rest.length > 0 ? rest.join('=') : null;
    const option = options.find((each) => each.flag === flag);
    if (option?.value === null) {
      if (given !== null) throw new CalledWrongly(`${flag} takes no value`);
      values.set(flag, '');
    } else if (option) {
      const value = given ?? args[++i];
      if (value === undefined || value === '' || (given === null && value.startsWith('--')))
        throw new CalledWrongly(`${flag} needs a value: ${flag} ${option.value}`);
      values.set(flag, value);
    } else if (given !== null || !known.includes(flag)) throw unknownWord('option', args[i]!, known);
    else if (flag === '--json') json = true;
    else quick = true;
  }
  return { json, quick, values };
}

export function unknownWord(what: string, given: string, known: readonly string[]): CalledWrongly {
  const near = nearest(given, known);
  const hint = near === null ? `there are ${known.join(', ')}` : `did you mean ${near}?`;
  return new CalledWrongly(`there is no ${what} "${given}"; ${hint}`);
}
