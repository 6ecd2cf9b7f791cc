// NVIDIA accelerators as the driver's own tool lists them. No tool, or a tool that fails, means no such devices: an agent
// on a machine whose driver is broken still runs jobs that need none.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface NvidiaDevice {
  readonly uuid: string;
  readonly model: string;
  readonly memoryMib: number;
  /** Compute capability times ten; left out where the driver does not tell it. */
  readonly generation?: number;
}

export interface NvidiaFound {
  readonly devices: readonly NvidiaDevice[];
  readonly driver: string | null;
  /** Why the tool gave no list although it is installed. */
  readonly trouble: string | null;
}

const query = 'index,uuid,name,memory.total,driver_version,compute_cap';
const answerWithinMs = 20_000;

export function findNvidia(command = 'nvidia-smi'): Promise<NvidiaFound> {
  return new Promise((resolve) => {
    execFile(
      command,
      [`--query-gpu=${query}`, '--format=csv,noheader,nounits'],
      { timeout: answerWithinMs },
      (error, stdout, stderr) => {
        if (!error) return resolve(parseNvidia(stdout));
        const missing = isMissing(error, command);
        const trouble = missing ? null : (stderr || stdout || error.message).trim().slice(0, 300);
        resolve({ devices: [], driver: null, trouble });
      },
    );
  });
}

/** A PATH with directories this user may not enter gives EACCES for a program that is nowhere. */
function isMissing(error: { readonly code?: unknown }, command: string): boolean {
  if (error.code === 'ENOENT') return true;
  if (error.code !== 'EACCES' || command.includes('/')) return false;
  return !(process.env.PATH ?? '').split(delimiter).some((dir) => existsSync(join(dir, command)));
}

export function parseNvidia(text: string): NvidiaFound {
  const rows = text
    .split('\n')
    .map((line) => line.split(',').map((field) => field.trim()))
    .filter((fields) => fields.length >= 5 && /^\d+$/.test(fields[0] ?? '') && fields[1]?.startsWith('GPU-'));
  rows.sort((a, b) => Number(a[0]) - Number(b[0]));
  const devices = rows.map(([, uuid = '', name = '', memory = '', , capability = '']) => ({
    uuid,
    model: modelOf(name),
    // "[N/A]" where memory is shared with the host.
    memoryMib: /^\d+$/.test(memory) ? Number(memory) : 0,
    ...(/^\d+\.\d$/.test(capability) ? { generation: Number(capability.replace('.', '')) } : {}),
  }));
  return { devices, driver: rows[0]?.[4] ?? null, trouble: null };
}

const brandWords = /^(NVIDIA|Tesla|GeForce|Quadro|GRID|Graphics|Device)$/i;

/** "NVIDIA H100 80GB HBM3" -> "H100", "A100-SXM4-80GB" -> "A100", "NVIDIA GeForce RTX 4090" -> "RTX-4090". */
export function modelOf(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== '' && !brandWords.test(word));
  const first = words[0] ?? 'GPU';
  const isSeries = /^[A-Za-z]+$/.test(first) && words.length > 1;
  const model = isSeries ? [first, ...seriesWords(words.slice(1))].join('-') : (first.split('-')[0] ?? first);
  return model.replace(/[^A-Za-z0-9._-]/g, '').slice(0, 63) || 'GPU';
}

/** The number after "RTX", and what belongs to it ("Ti", "Ada"), but no memory sizes or form factors. */
function seriesWords(words: readonly string[]): string[] {
  const end = words.findIndex((word, i) => i > 0 && !/^(Ti|SUPER|Ada|Max-Q)$/i.test(word));
  return words.slice(0, end < 0 ? undefined : end);
}
