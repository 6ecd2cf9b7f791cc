// Colour, where it helps and only where it can be seen: decided once for each stream, from the terminal, NO_COLOR and
// --no-color.
import { styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'blue' | 'magenta';
export type Paint = (style: Style, text: string) => string;

export const noPaint: Paint = (_style, text) => text;
export const ansiPaint: Paint = (style, text) => styleText(style, text, { validateStream: false });

export function paintFor(
  isTty: boolean,
  env: Readonly<Record<string, string | undefined>>,
  noColor: boolean,
): Paint {
  const off = noColor || !isTty || (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  return off ? noPaint : ansiPaint;
}

const stateStyles: Readonly<Record<string, Style>> = {
  queued: 'yellow',
  impossible: 'red',
  held: 'magenta',
  starting: 'cyan',
  running: 'green',
  stopping: 'yellow',
  succeeded: 'dim',
  failed: 'red',
  cancelled: 'dim',
  ready: 'green',
  draining: 'yellow',
  quarantined: 'red',
  silent: 'yellow',
  lost: 'red',
  removed: 'dim',
  unknown: 'yellow',
  new: 'cyan',
  connected: 'green',
  degraded: 'yellow',
};

export function paintState(paint: Paint, state: string): string {
  // An array's state has its counts behind it.
  const style = stateStyles[state.split(/[ ,]/, 1)[0] ?? ''];
  return style ? paint(style, state) : state;
}
