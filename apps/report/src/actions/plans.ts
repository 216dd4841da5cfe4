import type { Principal } from '@keywarden/db/report';
import * as store from '@keywarden/db/report';
import { nameOf } from '../access/roles.ts';
import type { Dependencies } from '../environment.ts';
import { Problem } from '../problem.ts';

/** Approves a plan in the name of whoever asks. Throws a Problem (409) for one that is too old, or that they have approved. */
export async function approvePlan(
  { sql, marks }: Dependencies,
  { plan, principal }: { plan: string; principal: Principal },
): Promise<void> {
  const by = nameOf(principal);
  if (await store.hasApproved(sql, { plan, person: principal.name }))
    throw new Problem(
      409,
      'Conflict',
      `You have approved plan ${plan} already; where a second person is needed, another must.`,
    );
  await marks.move();
  if (!(await store.approvePlan(sql, { plan, by })))
    throw new Problem(
      409,
      'Conflict',
      `Plan ${plan} was not made within the last day; look at a newer one of /v1/plans.`,
    );
}

/** Says no to a plan in the name of whoever asks. */
export async function rejectPlan(
  { db, marks }: Dependencies,
  { plan, principal, reason }: { plan: string; principal: Principal; reason: string },
): Promise<void> {
  await marks.move();
  await store.rejectPlan(db, { plan, by: nameOf(principal), reason });
}
