import type { Facts, Policy, Rule } from '@keywarden/core/policy';
import { readLastSlot, takeSlot } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import { Cron } from 'croner';

/**
 * The rules whose rotations may begin now: those without a schedule of their own, and those of whose schedule a time has come that nobody has seen
 * to. A time that was missed is caught up once; of a rule that is new only the next counts. The clock is the control plane's.
 */
export async function takeDueRules(sql: Sql, { rules }: Policy, { scopes }: Facts): Promise<Set<string>> {
  const nowMs = Math.max(0, ...scopes.map((scope) => scope.nowMs ?? 0));
  const due = new Set<string>();
  for (const rule of rules) {
    if (rule.rotation === undefined) continue;
    if (
      rule.rotation.schedule === undefined ||
      (await isDue(sql, { name: rule.name, schedule: rule.rotation.schedule }, nowMs))
    )
      due.add(rule.name);
  }
  return due;
}

async function isDue(
  sql: Sql,
  { name, schedule }: { name: Rule['name']; schedule: string },
  nowMs: number,
): Promise<boolean> {
  const [last] = new Cron(schedule, { paused: true, timezone: 'UTC' }).previousRuns(1, new Date(nowMs));
  if (last === undefined) return false;
  const known = await readLastSlot(sql, name);
  if (known !== null && Date.parse(known) >= last.getTime()) return false;
  const isTaken = await takeSlot(sql, { rule: name, slot: last.toISOString() });
  return isTaken && known !== null;
}
