import type { Plan } from '@keywarden/core/policy';
import { exitCode, UserError } from '@keywarden/core/process';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { isClockTrusted, planKeys } from '../enforce/plan.ts';
import { syncKeys } from '../sync/keys.ts';
import { connectionsOf, printJson, withContext } from './session.ts';
import { renderTable } from './table.ts';

/** Lists the keys afresh, judges them, prints and stores the plan. Changes nothing upstream. */
export async function planCommand(options: { json?: boolean }): Promise<number> {
  return await withContext(async (context) => {
    const connections = await connectionsOf(context);
    const failures: string[] = [];
    for (const connection of connections) {
      await syncKeys(context, connection).catch((error: unknown) => {
        if (!(error instanceof UserError)) throw error;
        failures.push(error.message);
      });
    }
    const plan = await planKeys(context, connections);
    const warnings = [...failures, ...describeBlindness(context, connections)];
    if (options.json)
      printJson({ plan_id: plan.id, sha256: plan.sha256, is_new: plan.isNew, warnings, ...describePlan(plan) });
    else console.log([renderPlan(plan), ...warnings].join('\n\n'));
    return failures.length > 0 ? exitCode.needsPerson : exitCode.done;
  });
}

/** What this plan cannot see or does not judge. */
function describeBlindness({ config }: Context, connections: Connection[]): string[] {
  const clocks = connections
    .filter((connection) => !isClockTrusted(config.policy, connection))
    .map(
      ({ name, skewMs }) =>
        `Nothing of connection ${name} was judged: our clock is ${Math.round(Math.abs(skewMs) / 1000)} s off the control plane's, more than max_clock_skew; set the clock right.`,
    );
  return [...clocks, 'Personal keys of other members are not in this plan: only their owner can list them.'];
}

/** The plan's document with each finding's reason in words. */
function describePlan({ document, findings }: Plan) {
  const reasons = (number: string) =>
    findings.filter((finding) => finding.key.number === number).map(({ rule, reason }) => ({ rule, reason }));
  const withReasons = <T extends { key: { number: string } }>(items: T[]) =>
    items.map((item) => ({ ...item, reasons: reasons(item.key.number) }));
  return {
    items: withReasons(document.items),
    held: withReasons(document.held),
    reported: withReasons(document.reported),
  };
}

function renderPlan(plan: Plan & { isNew: boolean }): string {
  const { items, held, reported } = describePlan(plan);
  const cells = ({ key, reasons }: (typeof items)[number] | (typeof reported)[number]) => [
    key.id,
    key.kind,
    key.name,
    key.organization_id ?? '(personal)',
    reasons.map(({ rule, reason }) => `${rule}: ${reason}`).join('; '),
  ];
  const headers = ['KEY', 'KIND', 'NAME', 'ORGANIZATION', 'WHY'];
  const sections = [
    `Plan ${plan.id}${plan.isNew ? '' : ', the same as before'}: ${items.length} to revoke, ${held.length} held, ${reported.length} to report.`,
  ];
  if (items.length > 0) sections.push(`To revoke, if you say so:\n${renderTable(headers, byPlace(items).map(cells))}`);
  if (held.length > 0) {
    const rows = byPlace(held).map((item) => [
      ...cells(item).slice(0, 4),
      `${item.why} (${item.reasons.map(({ rule }) => rule).join(', ')})`,
    ]);
    sections.push(`Condemned, but held:\n${renderTable(headers, rows)}`);
  }
  if (reported.length > 0) sections.push(`To report only:\n${renderTable(headers, byPlace(reported).map(cells))}`);
  if (items.length > 0)
    sections.push(`Nothing was changed. To carry out exactly this plan: npm run keywarden -- apply ${plan.id}`);
  return sections.join('\n\n');
}

/** For reading: an organization's keys together. */
function byPlace<T extends { key: { organization_id: string | null } }>(items: T[]): T[] {
  return items.toSorted((a, b) => (a.key.organization_id ?? '').localeCompare(b.key.organization_id ?? ''));
}
