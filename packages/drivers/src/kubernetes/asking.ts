// How the program of a pod is asked to save its work before it is stopped. We have no right to run anything in a pod, and a kubelet
// signals only what it ends; so the signal comes from inside. The asking is an annotation, which the kubelet writes into a file of the
// pod, and a shell that became the task left somebody behind who reads that file. Only pods of jobs that can be asked have it; it
// needs `sh`, `kill` and `sleep` in the image.
import { marks } from './objects.ts';

const directory = '/muster/about';

export const askVolume = {
  name: 'about',
  downwardAPI: { items: [{ path: 'ask', fieldRef: { fieldPath: `metadata.annotations['${marks.ask}']` } }] },
};
export const askMount = { name: 'about', mountPath: directory, readOnly: true };

/**
 * The task has the pid of the shell, and the one who reads is no child of it. He never ends before the task: where the task is
 * process 1 it would be told of the end of a child that it never had.
 */
const script = `task=$$
( (
  told=
  while :; do
    if [ -z "$told" ]; then
      signal=
      read -r signal rest < ${directory}/ask
      [ -n "$signal" ] && kill -s "$signal" "$task" && told=yes
    fi
    sleep 1
  done
) < /dev/null > /dev/null 2>&1 & )
exec "$@"`;

export function askable(command: readonly string[]): string[] {
  return ['sh', '-c', script, 'muster', ...command];
}
