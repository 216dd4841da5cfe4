import { readFileSync } from 'node:fs';
import { type Backtest, backtest, type Policy } from '@keywarden/core/policy';
import { countOf, isInstant, startOfDay } from '@keywarden/core/values';
import { readHistory } from '@keywarden/db/daemon';
import { codeOf, UserError, usageError } from '@keywarden/runtime';
import { parseConfig } from '@keywarden/runtime/config';
import { connectionsOf } from '../connect.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { describeCommand } from './command.ts';
import { joined } from './output.ts';
import { renderTable } from './table.ts';
import { existingStore, withContext } from './with-context.ts';

export const backtestCommand = describeCommand({
  name: 'backtest',
  about: 'Replay a policy over past observations: list what it would have revoked, and what was used later',
  required: { '--from <date>': 'the first day: 2026-03-31' },
  options: { '--policy <file>': 'a configuration file with another policy' },
  output: 'result',
  examples: ['--from 2026-01-01', '--from 2026-01-01 --policy stricter.yaml'],
  async run({ from, policy: file }) {
    const at = [from, startOfDay(from)].find(isInstant);
    if (at === undefined) throw usageError(`${from} is not a date; write it as 2026-03-31.`);
    const fromMs = Date.parse(at);
    return await withContext(async (context) => {
      const policy = file === undefined ? context.config.policy : readPolicy(file);
      const controlPlaneTimes = (await connectionsOf(context)).map(controlPlaneNow);
      const toMs = Math.max(...controlPlaneTimes.map((time) => Date.parse(time)));
      if (fromMs > toMs) throw usageError(`${from} is in the future; specify an earlier day.`);
      const history = await readHistory(context.store, new Date(fromMs).toISOString());
      const result = backtest(policy, history, { fromMs, toMs });
      return { json: toJson(result), text: render(result) };
    }, existingStore);
  },
});

function readPolicy(file: string): Policy {
  try {
    return parseConfig(readFileSync(file, 'utf8'), file).policy;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw usageError(`${file} cannot be read (${codeOf(error)}); specify a file with a policy.`);
  }
}

function render({ from, to, revoked, unjudged, unknown }: Backtest): string {
  const wrong = revoked.filter(({ usedAfter }) => usedAfter !== null);
  const rows = revoked.map(({ key, at, findings, usedAfter, goneAt, isUseUnknown }) => [
    at.slice(0, 10),
    key.id,
    key.name,
    key.organizationId ?? '(personal)',
    usedAfter ?? (goneAt !== null ? `unknown: gone at ${goneAt}` : isUseUnknown ? 'unknown' : 'no'),
    findings.map(({ rule, reason }) => `${rule}: ${reason}`).join('; '),
  ]);
  const parts = [
    `From ${from} to ${to} the policy would have revoked ${countOf(revoked.length, 'key')}. Used afterwards: ${wrong.length}.`,
    rows.length > 0 && renderTable(['DAY', 'KEY', 'NAME', 'ORGANIZATION', 'USED AFTERWARDS', 'WHY'], rows),
    ...unjudged.map(({ scope, days }) => `Not judged: ${scope} on ${countOf(days, 'day')} without a complete listing.`),
    unknown > 0 && `Not judged: ${countOf(unknown, 'key')} whose last use or creation is unknown.`,
    'The replay ignores quotas, notices, exemptions and reviews, and uses the current names and owners.',
  ];
  return joined(parts, '\n\n');
}

function toJson({ from, to, revoked, unjudged, unknown }: Backtest) {
  return {
    from,
    to,
    revoked: revoked.map(({ key, at, findings, usedAfter, goneAt, isUseUnknown }) => ({
      key: { scope: key.scope, id: key.id, name: key.name },
      at,
      findings,
      used_after: usedAfter,
      gone_at: goneAt,
      use_unknown: isUseUnknown,
    })),
    unjudged,
    unknown,
  };
}
