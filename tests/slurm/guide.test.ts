// Every command of the guide for Slurm, on a real one. The guide's directory is this Slurm's.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GuidedSystem, guide, startGuided } from '../harness/guide.ts';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';

const slurmGuide = guide('slurm.md');

onSlurm('the guide for Slurm', (slurm) => {
  let system: GuidedSystem;
  beforeAll(async () => {
    const directory = join(slurm().shared, 'muster');
    const conf = slurm().env.SLURM_CONF as string;
    const text = slurmGuide.text.replaceAll(/(directory: )?\/shared\/muster/g, (_, field?: string) =>
      field === undefined ? directory : `${field}${directory}\nconf: ${conf}`,
    );
    system = await startGuided({ ...slurmGuide, text }, []);
  });
  afterAll(() => system?.close());

  /** As a shell would read it. */
  const wordsOf = (line: string): string[] =>
    [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
      ([, single, double, bare]) => single ?? double ?? bare ?? '',
    );

  it('does what it shows', async () => {
    const said = new Map<string, string>();
    for (const line of slurmGuide.commands) {
      const given = line.includes('--directory') ? ['--conf', slurm().env.SLURM_CONF as string] : [];
      const words = wordsOf(line).map((word) =>
        word.replace('/shared/muster', join(slurm().shared, 'muster')),
      );
      if (line.startsWith('run'))
        await eventually('the nodes take work', 90_000, async () => {
          return (await system.client.clusters.get('alpha')).nodes.open === 4;
        });
      const { code, output } = await system.muster(...words.slice(0, 2), ...given, ...words.slice(2));
      expect(code, `${line}\n${output}`).toBe(0);
      said.set(line, output);
    }
    const of = (start: string): string => [...said].find(([line]) => line.startsWith(start))?.[1] ?? '';
    const shown = slurmGuide.text.split('\n').map(squeezed);
    const tested = of('clusters test --kind').split('\n').map(squeezed);
    for (const line of tested.filter((text) => /^(n1 |it answers)/.test(text))) expect(shown).toContain(line);
    expect(of('clusters add')).toContain('cluster alpha is connected; 4 nodes have joined\n');
    expect(of('run')).toContain('rank 1 of 2');
    expect(of('nodes')).toContain('alpha-n1');
  });
});

const squeezed = (line: string): string => line.replaceAll(/ +/g, ' ').trim();
