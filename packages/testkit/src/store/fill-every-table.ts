import type { Sql } from '@keywarden/db/store';

interface Column {
  table: string;
  name: string;
  type: string;
  values: string[] | null;
  /** The table and column that its foreign key references. */
  refersTo: string | null;
  refersColumn: string | null;
}

/** Values, as SQL, for columns whose checks need more than the column's type. */
const exceptions: Record<string, string> = {
  'exemption.until': "'2027-01-01'",
  // The triggers have added events with salts.
  'ledger_salt.event_number':
    '(select number from keywarden.ledger_event e where not exists (select from keywarden.ledger_salt where event_number = e.number) limit 1)',
  'operation_retention.number': '1',
  'operation_retention.keep': "'300 days'",
  'replica_policy.why': 'null',
  'review_campaign.due_at': "'2099-01-01'",
  'revocation_intent.rotation_number': 'null',
  'rotation.id': "'abcdefgh'",
  'rotation_request_answer.why_not': 'null',
};

const byType: Record<string, string> = {
  text: "'some text'",
  bigint: '7',
  integer: '7',
  boolean: 'true',
  bytea: "'\\x00'",
  uuid: "'11111111-2222-4333-8444-555555555555'",
  jsonb: '\'{"some": "json"}\'',
  interval: "'3 days'",
  date: "'2026-05-01'",
  'text[]': "'{some,texts}'",
  'integer[]': "'{7,1}'",
  'timestamp with time zone': "'2026-05-01 10:00:00.123456+00'",
  tstzmultirange: "'{[2026-01-01,2026-05-01)}'",
  datemultirange: "'{[2026-01-01,2026-05-01)}'",
};

const lastTable = 'review_signature';

/**
 * Inserts a row into every table of a store, with a value in every column that accepts one and valid foreign keys. `text` is what columns of text and
 * JSON get. Returns the tables' names.
 */
export async function fillEveryTable(sql: Sql, text?: string): Promise<string[]> {
  await sql`select keywarden.make_operation_partitions('{2026-05-01}')`;
  const columns = await readColumns(sql);
  const byTable = Map.groupBy(columns, ({ table }) => table);
  // A signed review accepts no more decisions.
  const waiting = new Set(byTable.keys());
  while (waiting.size > 0) {
    const ready = [...waiting].filter((table) =>
      (byTable.get(table) ?? []).every(
        ({ refersTo }) => refersTo === null || refersTo === table || !waiting.has(refersTo),
      ),
    );
    if (ready.length === 0) throw new Error(`tables refer to each other in a circle: ${[...waiting].join(', ')}`);
    for (const table of ready.length > 1 ? ready.filter((each) => each !== lastTable) : ready) {
      const own = byTable.get(table) ?? [];
      const names = own.map(({ name }) => name).join(', ');
      await sql.unsafe(
        `insert into keywarden.${table} (${names}) values (${own.map((column) => valueOf(column, text)).join(', ')})`,
      );
      waiting.delete(table);
    }
  }
  return [...byTable.keys()];
}

function valueOf({ table, name, type, values, refersTo, refersColumn }: Column, text: string | undefined): string {
  const exception = exceptions[`${table}.${name}`];
  if (exception !== undefined) return exception;
  if (refersTo !== null)
    return `(select (to_jsonb(r) ->> '${refersColumn}')::${type} from keywarden.${refersTo} r limit 1)`;
  if (values?.[0] !== undefined) return values[0];
  const quoted = text?.replaceAll("'", "''");
  if (quoted !== undefined && type === 'text') return `'${quoted}'`;
  if (quoted !== undefined && type === 'text[]') return `array['${quoted}']`;
  if (quoted !== undefined && type === 'jsonb') return `jsonb_build_object('${quoted}', '${quoted}')`;
  return byType[type] ?? 'null';
}

async function readColumns(sql: Sql): Promise<Column[]> {
  const rows = await sql`
    select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      (select array(select m[1] from regexp_matches(pg_get_constraintdef(k.oid), '''[^'']*''', 'g') m) from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum] and pg_get_constraintdef(k.oid) like '%ANY (ARRAY%') as values,
      f.refers_to, f.refers_column
    from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join lateral (
        select r.relname as refers_to, ra.attname as refers_column from pg_constraint k join pg_class r on r.oid = k.confrelid
          join pg_attribute ra on ra.attrelid = r.oid and ra.attnum = k.confkey[array_position(k.conkey, a.attnum)]
        where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any(k.conkey) limit 1) f on true
    where c.relnamespace = 'keywarden'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      and a.attidentity <> 'a' and c.relname not in ('migration', 'repeatable')
    order by c.relname, a.attnum`;
  return rows.map((row) => ({
    table: String(row.table),
    name: String(row.name),
    type: String(row.type),
    values: (row.values as string[] | null) ?? null,
    refersTo: row.refers_to === null ? null : String(row.refers_to),
    refersColumn: row.refers_column === null ? null : String(row.refers_column),
  }));
}
