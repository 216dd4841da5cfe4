import { countOf } from '@keywarden/core/values';
import { type Exemption, endExemption, exemptionList, grantExemption, readItems } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import { usableConnections } from '../connect.ts';
import { assertSaneClock, controlPlaneNow } from '../control-plane-clock.ts';
import { betweenMarks } from '../enforce/high-water-mark.ts';
import { chooseKeys, patternInWords } from './choose-keys.ts';
import { describeCommand } from './command.ts';
import { parseUntil, requireNumber, requireRules, userName, wholeList } from './common.ts';
import { type Columns, list } from './output.ts';
import { existingStore, storeOnly } from './with-context.ts';

export const exemptCommand = describeCommand({
  name: 'exempt',
  about: 'Exempt existing keys from the policy for a time',
  arguments: [['[key...]', 'ids of keys']],
  required: { '--reason <text>': 'the reason', '--until <when>': 'a date, or a duration from now: 2027-03-31, 90d' },
  options: {
    '--name <pattern>': 'exempt the keys whose name matches: ci-*',
    '--organization <id>': 'exempt the keys of this organization',
    '--kind <kind>':
      'exempt the keys of this kind: personal, organization or project, or the credentials of another kind',
    '--rule <name...>': 'exempt from these rules only',
  },
  output: 'result',
  examples: [
    '1234567 --reason "used once a year" --until 400d',
    '--name "ci-*" --rule unused-90d --reason "build farm" --until 2027-03-31',
  ],
  needs: existingStore,
  async run(context, names, { rule, reason, until, json: _json, output: _output, ...pattern }) {
    const { connections } = await usableConnections(context);
    connections.forEach(assertSaneClock);
    // The latest time, if there are several control planes.
    const now = connections.map(controlPlaneNow).toSorted().at(-1) ?? '';
    const end = parseUntil(until, { now, what: 'an exemption' });
    requireRules(context.config.policy, rule ?? []);
    const rules = rule === undefined ? null : [...new Set(rule)];
    const keys = await chooseKeys(context, { names, pattern });
    const granted = {
      keys: keys.map((key) => key.number),
      rules,
      pattern: patternInWords(pattern),
      reason,
      grantedBy: userName(),
      grantedAt: now,
      until: end,
    };
    const number = await betweenMarks(context, () => grantExemption(context.store.sql, granted));
    return {
      json: { exemption: number, keys: keys.map(({ id, name }) => ({ id, name })), rules, until: end },
      text: `Exemption ${number} covers ${countOf(keys.length, 'key')} until ${end}. Keys that are created later are not covered.`,
    };
  },
});

export const exemptionsCommand = describeCommand({
  name: 'exemptions',
  about: 'List the exemptions in force, or end one',
  options: { '--all': 'list lapsed and ended exemptions, too', '--end <number>': 'end this exemption now' },
  output: 'list',
  examples: ['', '--end 4'],
  needs: storeOnly,
  check({ end }) {
    if (end !== undefined) requireNumber(end, { of: "an exemption's number", list: 'exemptions' });
  },
  async run(context, { all = false, end }) {
    const { db, sql } = context.store;
    if (end !== undefined && !(await betweenMarks(context, () => endExemption(sql, { number: end, by: userName() }))))
      throw usageError(`There is no exemption ${end} in force; keywarden exemptions shows them.`);
    const exemptions = await readItems(db, exemptionList(all ? {} : { state: 'in_force' }, null), wholeList);
    const columns: Columns<Exemption> = {
      EXEMPTION: ({ id }) => id,
      COVERS: ({ pattern, keys }) => pattern ?? keys.map(({ id }) => id).join(', '),
      KEYS: ({ keys }) => String(keys.length),
      RULES: ({ rules }) => rules?.join(', ') ?? 'all',
      STATE: describeState,
      BY: (each) => each.granted_by,
      REASON: ({ reason }) => reason,
    };
    return list(exemptions, columns, {
      json: { exemptions: exemptions.map(toJson) },
      none: 'No exemption is in force.',
    });
  },
});

function describeState({ state, until, ended_by: endedBy }: Exemption): string {
  if (state === 'ended') return `ended by ${endedBy}`;
  return state === 'in_force' ? `until ${until}` : `lapsed ${until}`;
}

function toJson({ id, keys, state: _state, ...rest }: Exemption) {
  return { number: id, keys: keys.map(({ id, name }) => ({ id, name })), ...rest };
}
