// What is known of a job before it runs, and who is like it. *Kin* are all jobs that agree with it in some traits; the closest agree
// in all of them, the widest in none.

export interface JobTraits {
  readonly user: string;
  readonly project: string;
  readonly name: string;
  readonly devices: number;
  /** How long its user said it may run; null when nobody said. */
  readonly askedMs: number | null;
}

/** From the closest kin to the widest. */
export const kins = [
  'same user, name, size and time asked',
  'same user and name',
  'same user, size and time asked',
  'same user and time asked',
  'same user',
  'same project and size',
  'same time asked',
  'any job',
] as const;
export type Kin = (typeof kins)[number];

/** What names this kin of the job. A separator that names cannot hold keeps two of them apart. */
export function kinKey(kin: number, { user, project, name, devices, askedMs }: JobTraits): string {
  switch (kin) {
    case 0:
      return `0\n${project}\n${user}\n${name}\n${devices}\n${askedMs}`;
    case 1:
      return `1\n${project}\n${user}\n${name}`;
    case 2:
      return `2\n${project}\n${user}\n${devices}\n${askedMs}`;
    case 3:
      return `3\n${project}\n${user}\n${askedMs}`;
    case 4:
      return `4\n${project}\n${user}`;
    case 5:
      return `5\n${project}\n${devices}`;
    case 6:
      return `6\n${askedMs}`;
    default:
      return '7';
  }
}
