// The release this code is of, from the package it was installed with.
import { readFileSync } from 'node:fs';

export const agentVersion = readVersion();

function readVersion(): string {
  try {
    const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return 'unknown';
  }
}
