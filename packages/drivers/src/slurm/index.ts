export * from './commands.ts';
export * from './inventory.ts';
export type { SlurmNode } from './listing.ts';
export * from './open-slurm.ts';
export * from './run-directory.ts';
export type { Sight, Taken } from './sight.ts';
export * from './slurm-driver.ts';
