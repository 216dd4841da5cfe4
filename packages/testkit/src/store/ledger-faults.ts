import type { Sql } from '@keywarden/db/store';

const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/**
 * Returns the rows of a test's store that differ from the ledger, in words. Tests let time pass by making rows older, so rows that differ in times alone
 * count as equal. Everything else is a write of ours that the ledger missed, or a row that a test changed behind it.
 */
export async function listUnrecorded(sql: Sql): Promise<string[]> {
  const faults = await sql`
    select f.type, f.subject, f.fault, k.relation, k.identity from keywarden.ledger_row_faults() f join keywarden.ledger_kinds() k on k.kind = f.type`;
  const found: string[] = [];
  for (const { type, subject, fault, relation, identity } of faults) {
    const name = `${String(type)} of ${String(subject)} was ${String(fault)}`;
    const isAged = fault === 'altered' && (await isOlder(sql, { type, subject, relation, identity }));
    if (!isAged) found.push(name);
  }
  return found;
}

async function isOlder(sql: Sql, { type, subject, relation, identity }: Record<string, unknown>): Promise<boolean> {
  const parts = String(subject).split('/').slice(1);
  const where = (identity as string[]).map((column, index) => `r.${column}::text = '${parts[index]}'`).join(' and ');
  const [row] = await sql.unsafe(`
    select e.content, (keywarden.describe_${String(type).replace('.', '_')}(r, s.salt))[4] as now
    from keywarden.${String(relation)} r
      join keywarden.ledger_event e on e.type = '${String(type)}' and e.subject = '${String(subject)}'
      left join keywarden.ledger_salt s on s.event_number = e.number
    where ${where} order by e.number desc limit 1`);
  if (row === undefined) return false;
  const [recorded, now] = [row.content, row.now].map((text) => JSON.parse(String(text)) as Record<string, unknown>);
  return Object.entries(recorded ?? {}).every(([member, value]) => {
    const other = now?.[member];
    return JSON.stringify(value) === JSON.stringify(other) || (time.test(String(value)) && time.test(String(other)));
  });
}
