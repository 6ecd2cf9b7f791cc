// Everything the operator may say to an agent, in one object.
import type { Inventory } from '@muster/model';
import type { DeclaredDevices } from './discover/parse-devices.ts';

/** The part of a pino logger the agent uses. */
export interface Logger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

export interface AgentOptions {
  /** http(s) address of a server; the agent dials out to it. */
  readonly server: string;
  /** Other servers of the same system, tried in turn when a connection ends. */
  readonly otherServers?: readonly string[] | undefined;
  /** The agent's own directory: key, journal, output and scratch directories. */
  readonly dir: string;
  readonly log: Logger;
  /** PEM file of the authority that signed the server's certificate, when neither Node nor the system knows it. */
  readonly caFile?: string | undefined;
  readonly devices?: readonly DeclaredDevices[] | undefined;
  readonly cpuMilli?: number | undefined;
  readonly memoryMib?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Where other nodes reach this one; found out when not given. */
  readonly address?: string | undefined;
  readonly ports?: Inventory['ports'] | undefined;
  readonly keepOutput?: KeepOutput | undefined;
  /** Which local user runs the tasks of a submitter. Only an agent of root can honour it. */
  readonly userMap?: Readonly<Record<string, string>> | undefined;
  /** The local user of everybody else; `nobody` when not given. */
  /** A directory that all machines of the cluster see: each job keeps its checkpoints in one of its own below it. */
  readonly checkpoints?: string | undefined;
  readonly taskUser?: string | undefined;
  /** How long a server may take from the connection to its welcome, before the next one is tried. */
  readonly welcomeWithinMs?: number | undefined;
  /** False: control groups are left alone even where they work. */
  readonly cgroups?: boolean | undefined;
}

export interface KeepOutput {
  readonly ageMs: number;
  readonly totalMib: number;
}

export const defaultKeepOutput: KeepOutput = { ageMs: 7 * 86_400_000, totalMib: 10 * 1024 };
export const defaultPorts: Inventory['ports'] = { first: 20_000, count: 1000 };
