import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bindings } from './bindings.ts';
import { nameOfSource, type Source } from './sources.ts';

const code = (name: string) => `\`${name}\``;

function namesOf(source: Source): string {
  const of = source.namedByFirst === undefined ? '' : "first event's ";
  return Object.entries(nameOfSource(source))
    .map(([member, value]) => `${code(member)}: ${of}${code(value)}`)
    .join(', ');
}

const fieldsOf = ({ fields }: Source) =>
  Object.entries(fields)
    .map(([field, compared]) => {
      const [member, isMember] =
        typeof compared === 'string' ? [compared, true] : [compared.member, !comparedOtherwise.has(field)];
      return member === field || !isMember ? code(field) : `${code(field)} (${code(member)})`;
    })
    .join(', ');

/** Fields that are no member: the page explains them below its table. */
const comparedOtherwise = new Set(['decision', 'via', 'cause', 'state', 'events']);

test('an auditor can compare the tables of evidence with the events by LEDGER.md alone', () => {
  const page = readFileSync(new URL('../../../../../docs/LEDGER.md', import.meta.url), 'utf8');
  const [, table = ''] = page.split('| table | event | named by | fields |\n|---|---|---|---|\n');
  const written = table.slice(0, table.indexOf('\n\n')).split('\n');
  const rows = written.map((line) => {
    const [, of, event = '', names, fields] = line.split('|').map((cell) => cell.trim());
    const [type, condition = ''] = event.split(', ');
    return [of, type, /^(if|unless) /.test(condition), names, fields];
  });
  const expected = bindings.flatMap(({ of, sources }) =>
    sources.map((source, index) => {
      const hasCondition = source.isClaimed !== undefined;
      return [index === 0 ? of : '', code(source.type), hasCondition, namesOf(source), fieldsOf(source)];
    }),
  );
  expect(rows).toEqual(expected);
});
