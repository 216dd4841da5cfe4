export { type ChannelConfig, type Config, type ConnectionConfig, parseConfig, readConfig } from './read.ts';
