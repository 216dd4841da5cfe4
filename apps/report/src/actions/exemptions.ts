import * as store from '@keywarden/db/report';
import { cannotBeDone, conflict, forbidden, notFound } from '../problem.ts';
import { requireOne } from '../route.ts';
import type { Services } from '../services.ts';

export interface ExemptionRequest {
  keys: string[];
  rules: string[] | null;
  reason: string;
  /** RFC 3339; absent if `lastingMs` is given. */
  until?: string | undefined;
  lastingMs?: number | undefined;
}

/** Grants an exemption on behalf of the principal; returns its number. Throws a Problem for a key that they cannot see, or a past end. */
export async function grantExemption(
  { db, sql, marks }: Services,
  { principal, request }: { principal: store.Principal; request: ExemptionRequest },
): Promise<string> {
  const { keys, rules, reason, until, lastingMs } = request;
  const hidden = await store.findHiddenKey(db, keys, principal.organizations);
  if (hidden !== undefined) throw notFound(`key with number ${hidden}`, '/v1/keys');
  const known = await store.listRules(db);
  const unknown = rules?.find((rule) => known.length > 0 && !known.includes(rule));
  if (unknown !== undefined)
    throw cannotBeDone(`The policy has no rule ${unknown}; its rules are ${known.join(', ')}.`);
  const now = await store.readControlPlaneNow(db);
  const end = lastingMs === undefined ? (until ?? now) : new Date(Date.parse(now) + lastingMs).toISOString();
  if (!(Date.parse(end) > Date.parse(now)))
    throw cannotBeDone(`An exemption must end in the future; it is ${now} by the control plane's clock.`);
  const granted = { keys, rules, reason, until: end };
  return await marks.around(async () => await store.grantExemptionAs(sql, principal, granted));
}

/** Ends an exemption on behalf of the principal. Throws a Problem if it does not exist, has ended, or covers keys that the principal cannot see. */
export async function endExemption(
  { db, sql, marks }: Services,
  { principal, number }: { principal: store.Principal; number: string },
): Promise<void> {
  const list = store.exemptionList({ number }, principal.organizations);
  await requireOne(db, list, ['exemption with this number', '/v1/exemptions']);
  if (!(await store.coversOnly(db, number, principal.organizations)))
    throw forbidden('It covers keys of organizations that this token cannot see.');
  if (!(await marks.around(async () => await store.endExemptionAs(sql, principal, number))))
    throw conflict('The exemption has already ended.');
}
