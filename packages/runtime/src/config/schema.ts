import { defaultPolicy, policySchema } from '@keywarden/core/policy';
import { dayMs, duration, schedule } from '@keywarden/core/values';
import { z } from 'zod';
import { defaultSchedules, type JobKind, jobKinds } from '../schedules.ts';
import { nameOf, sinkSchema } from './sink-schema.ts';

/** With less than seven requests a minute, a call to revoke a key may get its permit only after the key's listing is too old. */
const leastShare = 0.01;

const address = z.url({ protocol: /^https?$/, error: 'an address must begin with https:// or http://' });

/** Returns how many of some settings are given. */
const countGiven = (...settings: unknown[]) => settings.filter((each) => each !== undefined).length;

const atLeast = (leastMs: number, error: string) => duration.refine(({ ms }) => ms >= leastMs, { error });

const connectionSchema = z
  .strictObject({
    name: nameOf('connection'),
    url: address,
    api_key_env: z.string().optional(),
    api_key_file: z.string().optional(),
    key_id: z
      .union([
        z.int('key_id is a number; quote one above 2^53: "9007199254740993"').positive(),
        z.string().regex(/^\d{1,19}$/, 'key_id is the number of a key'),
      ])
      .transform(String)
      .optional(),
    share: z.number().min(leastShare).max(1).default(0.5),
  })
  .refine((connection) => countGiven(connection.api_key_env, connection.api_key_file) === 1, {
    error: 'a connection has exactly one of api_key_env and api_key_file',
  });

/** The control plane serves six months. With less than seven, the next walk would bring back dropped operations. */
const shortestRetentionMs = 214 * dayMs;
const longestShutdownMs = 600_000;

/** How operations are read; see docs/OPERATIONS.md. Each default is based on observed behaviour of the control plane. */
const operationsSchema = z
  .strictObject({
    settle: atLeast(600_000, 'settle must be at least 10m: a Date may be off by five minutes').prefault('15m'),
    overlap: duration.prefault('24h'),
    follow_failed_for: duration.prefault('7d'),
    page_limit: z.int().min(2).max(1000).default(1000),
  })
  .refine(({ settle, overlap }) => overlap.ms > settle.ms, {
    error: 'overlap must be longer than settle: each walk reads again what the previous one could not claim yet',
  });

const retentionSchema = z.strictObject({
  operations: atLeast(
    shortestRetentionMs,
    'retention.operations must be at least 214d, longer than the control plane keeps operations',
  ).optional(),
  access_log: atLeast(365 * dayMs, 'access_log must be at least 365d: a yearly review needs these records').optional(),
});

const channelSchema = z
  .strictObject({
    name: nameOf('channel'),
    format: z.enum(['standard-webhooks', 'slack']),
    url: address.optional(),
    url_env: z.string().optional(),
    url_file: z.string().optional(),
    secret_env: z.string().optional(),
    secret_file: z.string().optional(),
    // The channel also gets the newest checkpoint of the ledger, once a day.
    checkpoints: z.boolean().default(false),
  })
  .refine(({ url, url_env: variable, url_file: file }) => countGiven(url, variable, file) === 1, {
    error: 'a channel has exactly one of url, url_env and url_file',
  })
  .refine(
    ({ format, secret_env: variable, secret_file: file }) =>
      countGiven(variable, file) === (format === 'slack' ? 0 : 1),
    { error: 'standard-webhooks needs exactly one of secret_env and secret_file to sign; slack has neither' },
  );

/** A setting for each kind of job. */
const scheduleShape = Object.fromEntries(
  jobKinds.map((kind) => [kind, schedule.default(defaultSchedules[kind])]),
) as Record<JobKind, z.ZodDefault<typeof schedule>>; // fromEntries forgets the names

const areNamesUnique = (all: { name: string }[]) => new Set(all.map(({ name }) => name)).size === all.length;

export const configSchema = z
  .strictObject({
    connections: z
      .array(connectionSchema)
      .default([])
      .refine(areNamesUnique, { error: 'two connections have the same name' }),
    schedules: z.strictObject(scheduleShape).prefault({}),
    // How long the daemon may take to finish its work after a stop signal.
    shutdown_timeout: duration
      .refine(({ ms }) => ms <= longestShutdownMs, { error: 'shutdown_timeout must be at most 10m' })
      .prefault('30s'),
    operations: operationsSchema.prefault({}),
    retention: retentionSchema.prefault({}),
    channels: z.array(channelSchema).default([]).refine(areNamesUnique, { error: 'two channels have the same name' }),
    sinks: z.array(sinkSchema).default([]).refine(areNamesUnique, { error: 'two sinks have the same name' }),
    policy: policySchema.default(defaultPolicy),
  })
  .superRefine(({ sinks, policy }, context) => {
    for (const [index, { rotation }] of policy.rules.entries())
      if (rotation !== undefined && !sinks.some(({ name }) => name === rotation.sink))
        context.addIssue({
          code: 'custom',
          path: ['policy', 'rules', index, 'rotation', 'sink'],
          message: `sink ${rotation.sink} does not exist; add it to sinks`,
        });
  })
  .refine(
    ({ channels, policy }) =>
      channels.length > 0 || !policy.rules.some(({ action, notices }) => action === 'notify' || notices.length > 0),
    {
      path: ['policy', 'rules'],
      error: 'a rule notifies owners (notices, or action: notify), and there is no channel; add one to channels',
      when: ({ issues }) => issues.length === 0,
    },
  );

/** A parsed keywarden.yaml; docs/POLICY.md describes each setting. */
export type ConfigFile = z.output<typeof configSchema>;

/**
 * Returns the JSON Schema (draft 7) of keywarden.yaml, for editors. It omits constraints across settings, such as that a rule has exactly one
 * condition, and limits of durations, cron expressions, ranges and protocols.
 */
export function configJsonSchema(): object {
  return {
    title: 'keywarden.yaml',
    ...z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', target: 'draft-7' }),
  };
}
