import { Cron } from 'croner';
import { z } from 'zod';
import { defaultPolicy, policySchema } from '../policy/schema.ts';

const address = z.url({ protocol: /^https?$/, error: 'an address begins with https:// or http://' });

const schedule = z
  .string()
  .refine(isSchedule, { error: 'not a cron expression; 15 minutes past each hour is "15 * * * *"' });

const connectionSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a connection is named by small letters, digits and hyphens'),
    url: address,
    api_key_env: z.string().optional(),
    api_key_file: z.string().optional(),
    key_id: z
      .union([z.int().positive(), z.string().regex(/^\d{1,19}$/)])
      .transform(String)
      .optional(),
    share: z.number().gt(0).max(1).default(0.5),
  })
  .refine((connection) => (connection.api_key_env === undefined) !== (connection.api_key_file === undefined), {
    error: 'a connection has exactly one of api_key_env and api_key_file',
  });

export const configSchema = z.strictObject({
  connections: z
    .array(connectionSchema)
    .default([])
    .refine((all) => new Set(all.map((each) => each.name)).size === all.length, {
      error: 'two connections bear the same name',
    }),
  schedules: z
    .strictObject({ keys: schedule.default('*/15 * * * *'), operations: schedule.default('*/15 * * * *') })
    .prefault({}),
  policy: policySchema.default(defaultPolicy),
});

/** keywarden.yaml as parsed; docs/POLICY.md describes each setting. */
export type ConfigFile = z.output<typeof configSchema>;

function isSchedule(text: string): boolean {
  try {
    return new Cron(text, { paused: true }).nextRun() !== null;
  } catch {
    return false;
  }
}
