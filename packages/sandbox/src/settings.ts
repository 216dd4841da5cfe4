import { z } from 'zod';

/** The options in which services of this shape differ from each other, or from one year to the next. */
export const settingsSchema = z.strictObject({
  /** For lists of projects and operations. Either every page with rows has a cursor, until an empty page, as recorded, or only full pages have one. */
  pagination: z.enum(['every_page', 'full_pages']).default('every_page'),
  /** Times in bodies in whole seconds, as recorded, or in microseconds. Cursors have fractions in both. */
  times: z.enum(['seconds', 'microseconds']).default('seconds'),
  /** Who may mint keys scoped to a project. */
  project_keys: z.enum(['administrators', 'members']).default('administrators'),
});

export type Settings = z.infer<typeof settingsSchema>;

/**
 * The rate of the control plane's own work. A project has at most one operation a day unless more are configured. The first is a day after the
 * project was created, so that a short test sees none. Trouble is the share of operations that fail, are cancelled or skipped.
 */
export const workSchema = z.strictObject({
  operations_per_day: z.number().nonnegative().max(1000).default(1),
  system_trouble: z.number().min(0).max(1).default(0.05),
  request_trouble: z.number().min(0).max(1).default(0),
  seed: z.int().nonnegative().default(1),
});
export type Work = z.infer<typeof workSchema>;
