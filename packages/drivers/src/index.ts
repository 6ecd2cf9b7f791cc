export * from './contract.ts';
export * from './listing-driver.ts';
export * from './owner.ts';
