import { explain, type Plan, type PlanItem } from '@keywarden/core/policy';
import { countOf } from '@keywarden/core/values';
import { type Columns, joined, renderList } from './output.ts';

/** Returns the plan's document with each finding's reason as text, and with whether an item is automatic. */
export function describePlan({ document, judgements, automatic }: Plan) {
  const byKey = new Map(judgements.map(({ key, findings }) => [key.number, findings]));
  const automaticOf = new Map(automatic.map((each) => [each.verdict.key.number, each]));
  const withReasons = <T extends PlanItem>(items: T[]) =>
    items.map((item) => ({
      ...item,
      reasons: (byKey.get(item.key.number) ?? [])
        .filter(({ rule }) => item.findings.some((each) => each.rule === rule.name))
        .map((finding) => ({ rule: finding.rule.name, reason: explain(finding) })),
    }));
  return {
    items: withReasons(document.items).map((item) => {
      const own = automaticOf.get(item.key.number);
      return { ...item, enforced: own !== undefined, waits: own?.waits ?? null };
    }),
    held: withReasons(document.held),
    reported: withReasons(document.reported),
    breakers: document.breakers,
    blind_spots: document.blind_spots,
  };
}

type Described = ReturnType<typeof describePlan>['held' | 'reported'][number];

const keyColumns = {
  KEY: ({ key }: Described) => key.id,
  KIND: ({ key }: Described) => key.kind,
  NAME: ({ key }: Described) => key.name,
  ORGANIZATION: ({ key }: Described) => key.organization_id ?? '(personal)',
  OWNER: ({ key }: Described) => key.owner,
};
const inWords = ({ reasons }: Described) => reasons.map(({ rule, reason }) => `${rule}: ${reason}`).join('; ');

/** Returns a plan for a person to read, in lines of at most `width` characters; by default those of the terminal. */
export function renderPlan(plan: Plan & { isNew: boolean }, width?: number): string {
  const { items, held, reported, breakers } = describePlan(plan);
  const table = <T extends Described>(part: T[], columns: Columns<T>) =>
    renderList(byOrganization(part), { ...keyColumns, ...columns }, { none: '', width });
  const whyHeld = ({ why, reasons: [first] }: (typeof held)[number]) =>
    first === undefined ? why.text : `${why.text} (${first.rule})`;
  const automaticScopes = new Set(plan.automatic.map(({ verdict }) => verdict.key.scope));
  const calling = breakers.filter(({ scope }) => automaticScopes.has(scope)).map(describeBreaker);
  const sections = [
    `Plan ${plan.id}${plan.isNew ? '' : ', the same as before'}: ${items.length} to revoke, ${held.length} held, ${reported.length} to report.`,
    items.length > 0 && `To revoke, if you approve:\n${table(items, { WHY: inWords })}`,
    held.length > 0 && `Flagged, but held:\n${table(held, { WHY: whyHeld })}`,
    reported.length > 0 && `To report only:\n${table(reported, { WHY: inWords, ACTION: ({ action }) => action })}`,
    calling.length > 0 && calling.join('\n'),
    describeEnforced(items),
    items.length > 0 && `Nothing was changed. To carry out exactly this plan: npm run keywarden -- apply ${plan.id}`,
  ];
  return joined(sections, '\n\n');
}

/** Returns the keys of a plan as CSV, with what happens to each. */
export function renderPlanRows(plan: Plan): string {
  const { items, held, reported } = describePlan(plan);
  const rows = [
    ...items.map((item) => ({ ...item, does: 'revoke', whyHeld: '' })),
    ...held.map((item) => ({ ...item, does: 'held', whyHeld: item.why.text })),
    ...reported.map((item) => ({ ...item, does: item.action, whyHeld: '' })),
  ];
  const columns: Columns<(typeof rows)[number]> = {
    ...keyColumns,
    ACTION: ({ does }) => does,
    WHY: inWords,
    'HELD BECAUSE': ({ whyHeld }) => whyHeld,
  };
  return renderList(rows, columns, { form: 'csv', none: '' });
}

function describeBreaker({ scope, flagged, active, percent }: Plan['document']['breakers'][number]): string {
  return `The breaker of ${scope} is open: the plan flags ${flagged} of ${countOf(active, 'key')}, more than ${percent} percent. None is revoked there automatically until a person applies this plan.`;
}

function describeEnforced(items: { enforced: boolean; waits: string | null }[]): string | null {
  const enforced = items.filter((item) => item.enforced);
  if (enforced.length === 0) return null;
  const waiting = [...Map.groupBy(enforced, ({ waits }) => waits ?? '')].filter(([why]) => why !== '');
  const going = enforced.length - waiting.reduce((sum, [, group]) => sum + group.length, 0);
  return joined([
    `${enforced.length} of them are in mode: enforce; the next run of the schedule enforce may revoke ${going}.`,
    ...waiting.map(([why, group]) => `${group.length} wait: ${why}.`),
  ]);
}

function byOrganization<T extends { key: { organization_id: string | null } }>(items: T[]): T[] {
  return items.toSorted((a, b) => (a.key.organization_id ?? '').localeCompare(b.key.organization_id ?? ''));
}
