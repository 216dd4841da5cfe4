export { emptyNote, type HeldKey, noteOf, readKeyFile, writeNote } from './key-file.ts';
export * from './read.ts';
export { configJsonSchema } from './schema.ts';
export { type Sink, sinkKinds } from './sink-schema.ts';
