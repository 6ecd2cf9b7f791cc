// muster projects: the tree of projects that jobs are charged to.

import type { ProjectView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { inFlags } from '../spec/from-flags.ts';
import { ago } from '../text/time.ts';

export function projectsCommand(cli: Cli): Command {
  const list = cli.act(async () => {
    const page = await cli.client().projects.list({ limit: 1000 });
    cli.show(page, () => {
      if (page.items.length === 0) return cli.line('There is none you can see.');
      cli.table<ProjectView>(
        [
          { title: 'PROJECT', cell: ({ path }) => path, importance: 100, least: 20, fixed: true },
          { title: 'CREATED', cell: ({ createdAt }) => ago(createdAt, cli.nowMs), importance: 50 },
          { title: 'BY', cell: ({ createdBy }) => createdBy, importance: 20, least: 8 },
        ],
        [...page.items].sort((a, b) => (a.path < b.path ? -1 : 1)),
      );
    });
  });
  return new Command('projects')
    .summary('list projects, create one')
    .description('List the projects you can see, or create one.')
    .action(list)
    .addCommand(new Command('list').summary('list them').description('List the projects.').action(list))
    .addCommand(
      new Command('create')
        .summary('create one')
        .description('Create a project below an existing one, such as research/vision.')
        .argument('<path>', 'names joined by "/"')
        .action(
          cli.act(async (path: string) => {
            const project = await cli.client().projects.create(path).catch(inFlags);
            cli.show(project, () => cli.line(`project ${project.path} is there`));
          }),
        ),
    );
}
