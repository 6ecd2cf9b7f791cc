export * from './create-api.ts';
export {
  type ApiConfig,
  type ApiDeps,
  defaultMaxBodyBytes,
  defaultRateLimit,
  type RateLimit,
} from './deps.ts';
export { checkBind, isLoopback, readTls, readTlsCert, readTlsKey } from './listen.ts';
export { jobSpecJsonSchema, policyJsonSchema } from './meta.ts';
export { openapiDocument } from './routes.ts';
export { mintSecret, secretHash } from './token-text.ts';
export { ensureAdminToken } from './tokens.ts';
