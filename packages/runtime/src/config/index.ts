export { emptyNote, type HeldKey, noteOf, readKeyFile, writeNote } from './key-file.ts';
export {
  type ChannelConfig,
  type Config,
  type ConnectionConfig,
  hasConfigFile,
  parseConfig,
  readConfig,
  readCredential,
} from './read.ts';
export { configJsonSchema } from './schema.ts';
export { type Sink } from './sink-schema.ts';
