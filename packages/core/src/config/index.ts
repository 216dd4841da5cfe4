export { configJsonSchema } from './json-schema.ts';
export { type ChannelConfig, type Config, type ConnectionConfig, parseConfig, readConfig } from './read.ts';
