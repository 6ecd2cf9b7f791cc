// Projects: a tree of names that jobs are charged to. An admin of a project may make projects below it.
import { isProjectPath, projectRule } from '@muster/model';
import * as z from 'zod';
import { sees } from './auth.ts';
import { defaultLimit, pageQuery } from './check-input.ts';
import { pageByName } from './cursor.ts';
import { committed } from './outcome.ts';
import { refuse } from './problem.ts';
import { route, sequenceHeader } from './route.ts';
import { pageOf, projectSchema } from './view-schemas.ts';
import { projectView } from './views.ts';

const tag = 'projects';

const listProjects = route({
  id: 'listProjects',
  method: 'GET',
  path: '/v1/projects',
  tag,
  summary: 'The projects this token sees',
  access: 'viewer',
  query: pageQuery,
  answers: { 200: pageOf(projectSchema) },
  async handle(api, { caller, query: { limit = defaultLimit, cursor } }) {
    const rows = await api.store.projects(caller.project);
    const asked = { limit, cursor };
    return { body: await pageByName(api.cursors, 'projects', rows, asked, (row) => row.path, projectView) };
  },
});

const projectBody = z.strictObject({
  path: z.string().refine(isProjectPath, `must be ${projectRule}`),
});

const createProject = route({
  id: 'createProject',
  method: 'POST',
  path: '/v1/projects',
  tag,
  summary: 'Make a project below one you are admin of',
  access: 'admin',
  body: projectBody,
  answers: { 201: projectSchema },
  async handle(api, { caller, body: { path }, request }) {
    request.target = path;
    // The same answer whether it exists or not.
    if (!sees(caller, path))
      throw refuse(
        'forbidden',
        `your token is admin of ${caller.project} and what is below; "${path}" is not`,
      );
    const parent = path.split('/').slice(0, -1).join('/');
    const { sequence } = committed(
      await api.store.createProject(path, caller.principal),
      (refusal) =>
        refusal === 'exists'
          ? refuse('already-exists', `the project "${path}" exists already`)
          : refuse('unknown-project', `there is no project "${parent}" to put it below; make that first`),
      'list the projects to see',
    );
    await api.tenancy.refreshed();
    const row = (await api.store.projects(path)).find((project) => project.path === path);
    const made = row ?? { path, createdMs: api.clock.nowMs(), createdBy: caller.principal };
    return { status: 201, body: projectView(made), headers: sequenceHeader(sequence) };
  },
});

export const projectRoutes = [listProjects, createProject];
