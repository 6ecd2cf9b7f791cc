// What the operator may say about a machine on the command line, in the form the agent takes it. Shared by agent and up.
import { availableParallelism, totalmem } from 'node:os';
import { type AgentOptions, parseDevices } from '@muster/agent';
import { usage } from '@muster/cli';
import { isLabelKey, isLabelValue, maxNodeDevices, maxNodePorts, parseSizeMib } from '@muster/model';

export interface MachineFlags {
  readonly devices?: readonly string[];
  readonly cpus?: string;
  readonly memory?: string;
  readonly label?: readonly string[];
}

export type Machine = Pick<AgentOptions, 'devices' | 'cpuMilli' | 'memoryMib' | 'labels'>;

export function machineOf(flags: MachineFlags): Machine {
  return {
    devices: flags.devices && devices(flags.devices),
    cpuMilli: flags.cpus === undefined ? undefined : cores(flags.cpus),
    memoryMib: flags.memory === undefined ? undefined : size(flags.memory),
    labels: flags.label === undefined ? undefined : labels(flags.label),
  };
}

/** Jobs can be given more than there is, as for a rehearsal; whoever did not mean that should hear of it. */
export function oversold({ cpuMilli = 0, memoryMib = 0 }: Machine): string | null {
  const [cores, mib] = [availableParallelism(), Math.floor(totalmem() / 1024 / 1024)];
  const over = [
    cpuMilli > cores * 1000 ? `${cpuMilli / 1000} cores (it has ${cores})` : '',
    memoryMib > mib
      ? `${(memoryMib / 1024).toFixed(1)} GiB of memory (it has ${(mib / 1024).toFixed(1)})`
      : '',
  ].filter((text) => text !== '');
  return over.length === 0 ? null : `this machine is offered with more than it has: ${over.join(', ')}`;
}

function devices(texts: readonly string[]): Machine['devices'] {
  const all = texts.map((text) => {
    const parsed = parseDevices(text);
    if (!parsed.ok) throw usage(`--devices: ${parsed.message}`);
    return parsed.value;
  });
  // The server takes no node with more, whatever their kinds.
  if (all.reduce((sum, { count }) => sum + count, 0) > maxNodeDevices)
    throw usage(`--devices: a node has at most ${maxNodeDevices} devices, all kinds together`);
  return all;
}

function cores(text: string): number {
  const milli = Math.round(Number(text) * 1000);
  if (!/^\d+(\.\d{1,3})?$/.test(text) || milli < 1)
    throw usage(`--cpus wants a number of cores such as 8 or 0.5, got "${text}"`);
  return milli;
}

function size(text: string): number {
  const parsed = parseSizeMib(text);
  if (!parsed.ok) throw usage(`--memory: ${parsed.message}`);
  return parsed.value;
}

function labels(items: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const [key = '', ...rest] = item.split('=');
      const value = rest.join('=');
      if (!isLabelKey(key) || !isLabelValue(value)) throw usage(`--label wants NAME=VALUE, got "${item}"`);
      return [key, value];
    }),
  );
}

export function pairsOf(flag: string, items: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const at = item.lastIndexOf('=');
      if (at <= 0 || at === item.length - 1) throw usage(`${flag} wants NAME=VALUE, got "${item}"`);
      return [item.slice(0, at), item.slice(at + 1)];
    }),
  );
}

/** "20000-20999". */
export function portsOf(text: string): { first: number; count: number } {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  const [first, last] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || first < 1 || last > 65_535 || last < first)
    throw usage(`--ports wants a range such as 20000-20999, got "${text}"`);
  const count = last - first + 1;
  if (count > maxNodePorts) throw usage(`--ports: a node offers at most ${maxNodePorts} ports, got ${count}`);
  return { first, count };
}
