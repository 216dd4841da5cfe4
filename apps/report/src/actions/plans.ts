import { someOf } from '@keywarden/core/values';
import type { Principal } from '@keywarden/db/report';
import * as store from '@keywarden/db/report';
import { conflict } from '../problem.ts';
import type { Services } from '../services.ts';

/** Approves a plan on behalf of the principal. Throws a Problem (409) for a plan that is too old, or that they have already approved. */
export async function approvePlan(
  { sql, marks }: Services,
  { plan, principal }: { plan: string; principal: Principal },
): Promise<void> {
  if (await store.hasApproved(sql, { plan, person: principal.name }))
    throw conflict(
      `You have already approved plan ${plan}. If it needs a second approval, another person must approve it.`,
    );
  if (!(await marks.around(async () => await store.approvePlan(sql, { plan, principal }))))
    throw conflict(
      `Plan ${plan} is not the newest one, or was not produced within the last day; choose the newest from /v1/plans.`,
    );
}

/** Makes the part of a plan that has only the chosen keys, and returns its id. Throws a Problem (409) if there is none, or if a named key is not in the plan. */
export async function makePart(
  { sql, db, marks }: Services,
  { plan, filter, principal }: { plan: string; filter: store.PartFilter; principal: Principal },
): Promise<string> {
  const named = filter.keys ?? [];
  const planned = new Set(named.length === 0 ? [] : await store.choosePart(db, plan, { keys: named }));
  const others = named.filter((key) => !planned.has(key));
  if (others.length > 0) throw conflict(`Plan ${plan} does not revoke the keys ${someOf(others)}; leave them out.`);
  const keys = await store.choosePart(db, plan, filter);
  if (keys.length === 0) throw conflict(`Plan ${plan} would revoke no key that matches; choose other keys.`);
  const id = await marks.around(async () => await store.derivePlanAs(sql, { plan, keys, principal }));
  if (id === null) throw conflict(`Plan ${plan} is not the newest one; make a part of the newest from /v1/plans.`);
  return id;
}

/** Rejects a plan on behalf of the principal. */
export async function rejectPlan(
  { sql, marks }: Services,
  { plan, principal, reason }: { plan: string; principal: Principal; reason: string },
): Promise<void> {
  await marks.around(async () => await store.rejectPlan(sql, { plan, principal, reason }));
}
