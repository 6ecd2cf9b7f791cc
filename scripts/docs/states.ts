import {
  jobTransitions,
  nodeTransitions,
  runTransitions,
  stateDiagram,
  taskTransitions,
} from '@muster/model';
import { page } from './markdown.ts';

const machines = [
  {
    title: 'Job',
    source: 'packages/model/src/job-state.ts',
    text: 'A job is what a person submits. Its states say what the person needs to know; what is proven about the attempt is in the run. A member of an array is a job of its own; the array as a whole is running while one of them is starting, running or stopping, and ends with the last.',
    picture: stateDiagram(jobTransitions, 'queued', ['ended']),
  },
  {
    title: 'Run',
    source: 'packages/model/src/run-state.ts',
    text: 'A run is one attempt of a job. A run whose node fell silent is `unknown` and keeps its capacity until its end is proven.',
    picture: stateDiagram(runTransitions, 'planned', ['ended']),
  },
  {
    title: 'Task',
    source: 'packages/model/src/task-state.ts',
    text: 'A task is one process of a run on one node. It is over by the report of its agent, by the word of the agent that it does not exist, or by the expiry of its node.',
    picture: stateDiagram(taskTransitions, 'planned', ['ended']),
  },
  {
    title: 'Node',
    source: 'packages/model/src/node-state.ts',
    text: 'What the control plane can prove about a machine. Draining is a wish of the operator and not a state.',
    picture: stateDiagram(nodeTransitions, 'ready', ['removed']),
  },
];

export function statesPage(): string {
  return page(
    'States',
    'Drawn from the tables that the `step` functions consult; nothing else changes a state. An event that has no arrow in a state is refused there.',
    ...machines.map(
      ({ title, source, text, picture }) =>
        `## ${title}\n\n${text} Source: \`${source}\`.\n\n\`\`\`mermaid\n${picture}\n\`\`\``,
    ),
  );
}
