export { type Random, seeded } from './random.ts';
