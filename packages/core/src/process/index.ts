export { type Environment, ensureDataFolder, readDataFile, readEnvironment } from './environment.ts';
export { codeOf, exitCode, runMain, UserError, usageError } from './errors.ts';
export { aborted, stopSignal } from './lifetime.ts';
export { createLogger, describeError, type Logger } from './log.ts';
