export * from './control-plane.ts';
