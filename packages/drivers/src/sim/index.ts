export * from './batch-driver.ts';
