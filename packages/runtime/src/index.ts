export * from './data-folder.ts';
export * from './environment.ts';
export {
  certificateFault,
  codeOf,
  codesOfFullDisks,
  deniedByDeno,
  exitCode,
  explain,
  isStoreFailure,
  isStoreUnavailable,
  runMain,
  storeError,
  UserError,
  usageError,
  whyExhausted,
} from './errors.ts';
export * from './lifetime.ts';
export { listen } from './listen.ts';
export { createLogger, describeError, type Logger } from './log.ts';
export * from './printable.ts';
export { defaultSchedules, type JobKind, jobKinds } from './schedules.ts';
export { startTracing, traced, traceEnded } from './tracing.ts';
