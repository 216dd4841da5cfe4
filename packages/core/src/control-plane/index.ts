export {
  type AuthAnswer,
  type ClientOptions,
  type ControlPlaneClient,
  createClient,
  type ProjectPage,
} from './client.ts';
export { ControlPlaneError, type ControlPlaneErrorCode } from './errors.ts';
export { createLimiter, type Limiter, noLimiter } from './limits.ts';
export { collect, type Page } from './pagination.ts';
export { systemTime, type Time } from './time.ts';
