import { explain, type Plan, type PlanItem } from '@keywarden/core/policy';
import { choosePart, derivePlan } from '@keywarden/db/daemon';
import { exitCode, print, usageError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { isClockTrusted } from '../control-plane-clock.ts';
import { planKeys } from '../enforce/plan.ts';
import { listKeysAfresh } from '../sync/keys.ts';
import { renderTable } from './common.ts';
import { printJson, withContext } from './session.ts';

export interface PlanOptions {
  organization?: string;
  review?: string;
  rule?: string;
  key?: string[];
  json?: boolean;
}

/** Lists and judges the keys, then prints and stores the plan, or a part of it. Changes nothing upstream. */
export async function planCommand(options: PlanOptions): Promise<number> {
  return await withContext(async (context) => {
    const { connections, failures } = await listKeysAfresh(context);
    const whole = await planKeys(context, connections);
    const plan = isPart(options) ? await takePart(context, whole, options) : whole;
    const warnings = [...failures, ...describeBlindness(context, connections, plan)];
    if (options.json)
      printJson({ plan_id: plan.id, sha256: plan.sha256, is_new: plan.isNew, warnings, ...describePlan(plan) });
    else print([renderPlan(plan), ...warnings].join('\n\n'));
    return failures.length > 0 ? exitCode.needsPerson : exitCode.done;
  });
}

const isPart = ({ organization, review, rule, key }: PlanOptions) =>
  [organization, review, rule, key].some((each) => each !== undefined);

/** Stores the part of a plan that has only the chosen keys, and returns it as a plan. Throws a UserError if the plan has none of them. */
async function takePart<T extends Plan>(
  { store }: Context,
  whole: T,
  { organization, review, rule, key: keys }: PlanOptions,
): Promise<T> {
  for (const text of keys ?? [])
    if (!/^\d{1,18}$/.test(text))
      throw usageError(`${text} is not the number of a key; keywarden plan --json lists them.`);
  const chosen = await choosePart(store.db, whole.id, { organizationId: organization, review, rule, keys });
  const id = chosen.length === 0 ? null : await derivePlan(store.sql, { plan: whole.id, keys: chosen });
  if (id === null)
    throw usageError(
      `Plan ${whole.id} would revoke no key that matches; run keywarden plan without options to see its keys.`,
    );
  const numbers = new Set(chosen);
  const { document } = whole;
  const items = document.items.filter(({ key }) => numbers.has(key.number));
  const automatic = whole.automatic.filter(({ verdict }) => numbers.has(verdict.key.number));
  return { ...whole, id, document: { ...document, items, held: [], reported: [], breakers: [] }, automatic };
}

/** Returns what this plan cannot see or does not judge. */
function describeBlindness({ config }: Context, connections: Connection[], { document }: Plan): string[] {
  const clocks = connections
    .filter((connection) => !isClockTrusted(config.policy, connection))
    .map(
      ({ name, skewMs }) =>
        `No key of connection ${name} was judged: the local clock is ${Math.round(Math.abs(skewMs) / 1000)} s from the control plane's, more than max_clock_skew; correct the clock.`,
    );
  const personal = document.blind_spots.filter(({ kind }) => kind === 'personal_keys');
  const members = personal.reduce((sum, spot) => sum + (spot.members ?? 0), 0);
  const unlisted = personal.filter((spot) => spot.members === null).length;
  const others = [
    ...(members > 0 ? [`those of ${members} members of ${personal.length - unlisted} organizations`] : []),
    ...(unlisted > 0 ? [`those of ${unlisted} organizations whose members cannot be listed`] : []),
  ];
  if (others.length === 0) return clocks;
  return [...clocks, `Personal keys that no connection can list are not in this plan: ${others.join(', and ')}.`];
}

/** Returns the plan's document with each finding's reason as text, and with whether an item is automatic. */
function describePlan({ document, judgements, automatic }: Plan) {
  const byKey = new Map(judgements.map(({ key, findings }) => [key.number, findings]));
  const alone = new Map(automatic.map((each) => [each.verdict.key.number, each]));
  const withReasons = <T extends PlanItem>(items: T[]) =>
    items.map((item) => ({
      ...item,
      reasons: (byKey.get(item.key.number) ?? [])
        .filter(({ rule }) => item.findings.some((each) => each.rule === rule.name))
        .map((finding) => ({ rule: finding.rule.name, reason: explain(finding) })),
    }));
  return {
    items: withReasons(document.items).map((item) => {
      const own = alone.get(item.key.number);
      return { ...item, enforced: own !== undefined, waits: own?.waits ?? null };
    }),
    held: withReasons(document.held),
    reported: withReasons(document.reported),
    breakers: document.breakers,
    blind_spots: document.blind_spots,
  };
}

function renderPlan(plan: Plan & { isNew: boolean }): string {
  const { items, held, reported, breakers } = describePlan(plan);
  const cells = ({ key, reasons }: (typeof items)[number] | (typeof reported)[number]) => [
    key.id,
    key.kind,
    key.name,
    key.organization_id ?? '(personal)',
    key.owner,
    reasons.map(({ rule, reason }) => `${rule}: ${reason}`).join('; '),
  ];
  const headers = ['KEY', 'KIND', 'NAME', 'ORGANIZATION', 'OWNER', 'WHY'];
  const sections = [
    `Plan ${plan.id}${plan.isNew ? '' : ', the same as before'}: ${items.length} to revoke, ${held.length} held, ${reported.length} to report.`,
  ];
  if (items.length > 0) sections.push(`To revoke, if you approve:\n${renderTable(headers, byPlace(items).map(cells))}`);
  if (held.length > 0) {
    const rows = byPlace(held).map((item) => [
      ...cells(item).slice(0, 5),
      [item.why.text, ...item.reasons.slice(0, 1).map(({ rule }) => `(${rule})`)].join(' '),
    ]);
    sections.push(`Flagged, but held:\n${renderTable(headers, rows)}`);
  }
  if (reported.length > 0) {
    const rows = byPlace(reported).map((item) => [...cells(item), item.action]);
    sections.push(`To report only:\n${renderTable([...headers, 'ACTION'], rows)}`);
  }
  const alone = new Set(plan.automatic.map(({ verdict }) => verdict.key.scope));
  const calling = breakers.filter(({ scope }) => alone.has(scope)).map(describeBreaker);
  sections.push(...(calling.length > 0 ? [calling.join('\n')] : []), ...describeEnforced(items));
  if (items.length > 0)
    sections.push(`Nothing was changed. To carry out exactly this plan: npm run keywarden -- apply ${plan.id}`);
  return sections.join('\n\n');
}

function describeBreaker({ scope, flagged, active, percent }: Plan['document']['breakers'][number]): string {
  return `The breaker of ${scope} is open: ${flagged} of ${active} keys are flagged, more than ${percent} percent. None is revoked there automatically until a person applies this plan.`;
}

function describeEnforced(items: { enforced: boolean; waits: string | null }[]): string[] {
  const enforced = items.filter((item) => item.enforced);
  if (enforced.length === 0) return [];
  const waiting = [...Map.groupBy(enforced, ({ waits }) => waits ?? '')].filter(([why]) => why !== '');
  const going = enforced.length - waiting.reduce((sum, [, group]) => sum + group.length, 0);
  return [
    [
      `${enforced.length} of them are in mode: enforce; the next run of the schedule enforce may revoke ${going}.`,
      ...waiting.map(([why, group]) => `${group.length} wait: ${why}.`),
    ].join('\n'),
  ];
}

/** Groups the items by organization, for reading. */
function byPlace<T extends { key: { organization_id: string | null } }>(items: T[]): T[] {
  return items.toSorted((a, b) => (a.key.organization_id ?? '').localeCompare(b.key.organization_id ?? ''));
}
