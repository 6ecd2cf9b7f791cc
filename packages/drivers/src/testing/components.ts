// Where the Kubernetes components lie that scripts/build-kubernetes made, by the same versions.
import { accessSync, constants, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout: this file is packages/drivers/src/testing/components.ts. */
const repository = join(fileURLToPath(import.meta.url), '../../../../..');

const cache = (): string =>
  process.env.MUSTER_COMPONENTS ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'muster', 'components');

function versionOf(name: string): string {
  const versions = readFileSync(join(repository, 'scripts', 'component-versions'), 'utf8');
  const found = new RegExp(`^${name}=(.+)$`, 'm').exec(versions)?.[1];
  if (found === undefined) throw new Error(`scripts/component-versions has no ${name}`);
  return found;
}

const built = (name: string, version: string, program = name): string =>
  join(cache(), `${name}-${versionOf(version)}`, program);

export const componentPaths = {
  apiServer: built('kubernetes', 'kubernetes', 'kube-apiserver'),
  controllerManager: built('kubernetes', 'kubernetes', 'kube-controller-manager'),
  kubelet: built('kubernetes', 'kubelet', 'kubelet'),
  etcd: built('etcd', 'etcd'),
  coredns: built('coredns', 'coredns'),
  scheduler: built('kubernetes', 'kubernetes', 'kube-scheduler'),
  kwok: built('kwok', 'kwok'),
} as const;

export type Component = keyof typeof componentPaths;

/** Where Debian has daemons; a user's path often leaves it out. */
export const systemPath = `${process.env.PATH ?? ''}${delimiter}/usr/sbin${delimiter}/usr/bin`;

export function lackingComponents(names: readonly Component[]): Component[] {
  return names.filter((name) => !isExecutable(componentPaths[name]));
}

export function lackingPrograms(names: readonly string[]): string[] {
  return names.filter((name) => !systemPath.split(delimiter).some((dir) => isExecutable(join(dir, name))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
