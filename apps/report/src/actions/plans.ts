import type { Principal } from '@keywarden/db/report';
import * as store from '@keywarden/db/report';
import type { Services } from '../environment.ts';
import { Problem } from '../problem.ts';

/** Approves a plan on behalf of the principal. Throws a Problem (409) for a plan that is too old, or that they have already approved. */
export async function approvePlan(
  { sql, marks }: Services,
  { plan, principal }: { plan: string; principal: Principal },
): Promise<void> {
  if (await store.hasApproved(sql, { plan, person: principal.name }))
    throw new Problem(
      409,
      'Conflict',
      `You have already approved plan ${plan}. If it needs a second approval, another person must approve it.`,
    );
  await marks.move();
  if (!(await store.approvePlan(sql, { plan, principal })))
    throw new Problem(
      409,
      'Conflict',
      `Plan ${plan} was not produced within the last day; choose a newer one from /v1/plans.`,
    );
}

/** Rejects a plan on behalf of the principal. */
export async function rejectPlan(
  { sql, marks }: Services,
  { plan, principal, reason }: { plan: string; principal: Principal; reason: string },
): Promise<void> {
  await marks.move();
  await store.rejectPlan(sql, { plan, principal, reason });
}
