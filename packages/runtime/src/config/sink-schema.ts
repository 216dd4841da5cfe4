import { duration } from '@keywarden/core/values';
import { z } from 'zod';

/** The name of a connection, a channel or a sink. */
export const nameOf = (what: string) =>
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, `${what} names use lowercase letters, digits and hyphens`);

const name = nameOf('sink');

/** The placeholders, in braces, that a place may contain. */
const placeholders = ['lineage', 'line', 'name', 'organization', 'project', 'control_plane'] as const;

const place = z
  .string()
  .min(1, 'a path or a word of a command must not be empty')
  .refine((text) => !text.includes('\0'), { error: 'a path or a word of a command must not contain NUL' })
  .refine(
    (text) => [...text.matchAll(/\{(\w+)\}/g)].every(([, word]) => placeholders.some((known) => known === word)),
    {
      error: `only ${placeholders.map((word) => `{${word}}`).join(', ')} are valid placeholders`,
    },
  );

/** A path with a typing error in its braces would be one file for all keys. */
const path = place.refine((text) => !/[{}]/.test(text.replaceAll(/\{\w+\}/g, '')), {
  error: `braces must enclose one of ${placeholders.join(', ')}`,
});

const longestMs = 600_000;

const kinds = [
  z.strictObject({
    name,
    kind: z.literal('file'),
    path: path.describe('the file for the secret; a file beside it, ending in .keywarden.json, names the key'),
  }),
  z.strictObject({
    name,
    kind: z.literal('command'),
    command: z
      .array(place, 'a command must be a list of words: [vault, kv, put, ...]')
      .min(1)
      .describe('reads the secret on standard input; a status other than 0 is a failure'),
    read_command: z.array(place).min(1).optional().describe('prints the id of the key that the sink has'),
    timeout: duration.refine(({ ms }) => ms <= longestMs, { error: 'timeout must be at most 10m' }).prefault('30s'),
    environment: z
      .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable'))
      .default([])
      .describe('variables of the daemon that the command also gets'),
  }),
] as const;

export const sinkKinds = kinds.map(({ shape }) => shape.kind.value);

/** A sink for the secrets of successors; see docs/ROTATION.md. */
export const sinkSchema = z.discriminatedUnion('kind', kinds, {
  error: `the kind of a sink must be ${sinkKinds.join(' or ')}`,
});

export type Sink = z.output<typeof sinkSchema>;
