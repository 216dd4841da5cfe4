import * as store from '@keywarden/db/report';
import {
  coversOnly,
  exemptionList,
  listRules,
  type Principal,
  readControlPlaneNow,
  readOne,
  seesKey,
} from '@keywarden/db/report';
import { nameOf } from '../access/roles.ts';
import type { Dependencies } from '../environment.ts';
import { notFound, Problem } from '../problem.ts';

/** What somebody asks to be excepted. */
export interface AskedExemption {
  keys: string[];
  rules: string[] | null;
  reason: string;
  /** RFC 3339, or absent where `lastingMs` says how long. */
  until?: string | undefined;
  lastingMs?: number | undefined;
}

/** Grants an exemption in the name of whoever asks; answers with its number. Throws a Problem for keys that they do not see, or no time. */
export async function grantExemption(
  { db, sql, marks }: Dependencies,
  { principal, asked }: { principal: Principal; asked: AskedExemption },
): Promise<string> {
  const { keys, rules, reason, until, lastingMs } = asked;
  for (const key of keys)
    if (!(await seesKey(db, key, { organizations: principal.organizations })))
      throw notFound(`key of number ${key}`, '/v1/keys');
  const known = await listRules(db);
  const strange = rules?.find((rule) => known.length > 0 && !known.includes(rule));
  if (strange !== undefined)
    throw new Problem(422, 'Cannot be done', `The policy has no rule ${strange}; it has ${known.join(', ')}.`);
  const now = await readControlPlaneNow(db);
  const end = lastingMs === undefined ? (until ?? now) : new Date(Date.parse(now) + lastingMs).toISOString();
  if (!(Date.parse(end) > Date.parse(now)))
    throw new Problem(
      422,
      'Cannot be done',
      `An exemption ends later than now, which is ${now} by the control plane's clock.`,
    );
  await marks.move();
  return await store.grantExemption(sql, {
    keys: [...new Set(keys)],
    rules,
    pattern: null,
    reason,
    grantedBy: nameOf(principal),
    grantedAt: now,
    until: end,
  });
}

/** Ends an exemption in the name of whoever asks. Throws a Problem for one that is not there, that is over, or of others' keys too. */
export async function endExemption(
  { db, sql, marks }: Dependencies,
  { principal, number }: { principal: Principal; number: string },
): Promise<void> {
  const found = await readOne(db, exemptionList({ number }, principal.organizations));
  if (found === undefined) throw notFound('exemption of this number', '/v1/exemptions');
  if (!(await coversOnly(db, number, principal.organizations)))
    throw new Problem(403, 'Forbidden', 'It covers keys of organizations that this token does not see.');
  await marks.move();
  if (!(await store.endExemption(sql, { number, by: nameOf(principal) })))
    throw new Problem(409, 'Conflict', 'The exemption has ended already.');
}
