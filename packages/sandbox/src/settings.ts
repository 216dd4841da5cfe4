import { z } from 'zod';

/** Where services of this shape differ from each other, or from one year to the next. */
export const settingsSchema = z.strictObject({
  /** Of projects and operations a cursor on every page that has rows, until an empty page, as recorded; or none on a page that is not full. */
  pagination: z.enum(['every_page', 'full_pages']).default('every_page'),
  /** Times in bodies in whole seconds, as recorded, or in microseconds. Cursors have fractions in both. */
  times: z.enum(['seconds', 'microseconds']).default('seconds'),
  /** Who may mint keys of a project. */
  project_keys: z.enum(['administrators', 'members']).default('administrators'),
});

export type Settings = z.infer<typeof settingsSchema>;

/**
 * The pace of the control plane's own work. At most one operation a project and day unless more are asked for, the first of them a day
 * after the project came, so that a short test sees none. Trouble is the share of operations that fail, are cancelled or skipped.
 */
export const workSchema = z.strictObject({
  operations_per_day: z.number().nonnegative().max(1000).default(1),
  system_trouble: z.number().min(0).max(1).default(0.05),
  request_trouble: z.number().min(0).max(1).default(0),
  seed: z.int().nonnegative().default(1),
});
export type Work = z.infer<typeof workSchema>;
