// A node's name from the host's: names have a narrower grammar than hosts.
import { hostname } from 'node:os';
import { isName } from '@muster/model';

export function nodeName(host = hostname()): string {
  const [short = ''] = host.toLowerCase().split('.');
  const name = short
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '');
  return isName(name) ? name : 'node';
}
