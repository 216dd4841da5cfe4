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
