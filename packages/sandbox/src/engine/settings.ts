import { z } from 'zod';

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
