import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const says = z.string().min(1);
const days = z.int().min(1).max(3660);

/** A measure of a control; measures.ts has the query for each. */
const measure = z.discriminatedUnion('measure', [
  z.strictObject({
    measure: z.enum([
      'inventory',
      'credentials',
      'expired_credentials',
      'orphaned_keys',
      'findings',
      'revocations',
      'rotations',
      'exemptions',
      'decisions',
      'incidents',
      'reviewed_keys',
      'operation_counts',
      'access_log',
    ]),
    says,
  }),
  z.strictObject({
    measure: z.enum([
      'idle_keys',
      'old_keys',
      'unreviewed_keys',
      'operation_history',
      'idle_credentials',
      'old_credentials',
      'unreviewed_credentials',
    ]),
    days,
    says,
  }),
  z.strictObject({ measure: z.literal('reviews'), within_days: days, says }),
]);

export type Measure = z.infer<typeof measure>;

const framework = z.strictObject({
  framework: z.string().regex(/^[a-z0-9.-]+$/),
  title: z.string(),
  controls: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[\w.()-]+$/),
        title: says,
        /** The requirement, in our words. */
        requires: says,
        measures: z.array(measure).min(1),
      }),
    )
    .min(1),
});

/** A control with the title of its framework. Its id has the framework's name too: `nist-800-53:AC-2(3)`. */
export type Control = z.infer<typeof framework>['controls'][number] & { framework: string };

const folder = new URL('../../controls/', import.meta.url);

/** Returns the controls with evidence; each file in controls/ is a framework. Throws for a file that does not match the schema. */
export function readControls(): Control[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted();
  return files.flatMap((name) => {
    const {
      framework: short,
      title,
      controls,
    } = framework.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8')));
    return controls.map(({ id, ...control }) => ({ id: `${short}:${id}`, framework: title, ...control }));
  });
}
