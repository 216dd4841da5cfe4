import type { Sql } from '@keywarden/db/store';

interface Column {
  table: string;
  name: string;
  type: string;
  /** Whether a unique index has it, and whether a check restricts it. */
  isUnique: boolean;
  isChecked: boolean;
  /** What its foreign key references: the table and the column. */
  refersTo: [table: string, column: string] | null;
}

/** Tables that hold one row for good, or that this server alone writes, and operations: other tests have many. */
const kept =
  /^(control_plane|connection|migration|repeatable|operation.*|ledger_(tile|checkpoint|cosignature|key)|open_walk|completed_walk)$/;

/** Text by which rows are known, which each copy has its own of. */
const naming = /(^|_)(id|scope|name|owner|email|subject)$/;

/** Values, as SQL, that have a form of their own. */
const forms: Record<string, string> = {
  'rotation.id': "translate(lpad(to_hex(k), 8, 'a'), '0189', 'ghij')",
};

/** More than any number that a test's own rows have. */
const stride = 100_000;

/**
 * Adds copies of the rows of every table, so that a store is as large as after years. Each copy has numbers and names of its own, refers to rows of the same
 * copy, and is an hour older than the copy before. Triggers do not run: the ledger has copies of its events, and signs none of them.
 */
export async function copyHistory(sql: Sql, copies: number): Promise<void> {
  const columns = (await readColumns(sql)).filter(({ table }) => !kept.test(table));
  const byTable = Map.groupBy(columns, ({ table }) => table);
  const originOf = (column: Column): Column | undefined => {
    if (column.refersTo === null) return column;
    const [table, name] = column.refersTo;
    const referred = byTable.get(table)?.find((each) => each.name === name);
    return referred === undefined || referred === column ? referred : originOf(referred);
  };
  const valueOf = (column: Column): string => {
    const own = `o."${column.name}"`;
    const origin = originOf(column);
    if (origin === undefined) return own;
    const { table, name, type, isUnique, isChecked } = origin;
    const form = forms[`${table}.${name}`];
    if (form !== undefined) return form;
    if (type.startsWith('timestamp')) return `${own} - k * interval '1 hour'`;
    if (type === 'date') return `${own} - k`;
    if (/int/.test(type) && isUnique) return `${own} + k * ${stride}`;
    return type === 'text' && !isChecked && (isUnique || naming.test(name)) ? `${own} || '-' || k` : own;
  };
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    for (const [table, own] of byTable) {
      const names = own.map(({ name }) => `"${name}"`).join(', ');
      await tx.unsafe(
        `insert into keywarden.${table} (${names}) overriding system value
        select ${own.map(valueOf).join(', ')} from keywarden.${table} o, generate_series(1, ${copies}) k on conflict do nothing`,
      );
    }
    await tx`select setval(sequence, highest) from keywarden.sequences_behind()`;
  });
  await sql`vacuum analyze`;
}

async function readColumns(sql: Sql): Promise<Column[]> {
  const rows = await sql`
    select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and a.attnum = any(i.indkey)) as is_unique,
      exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and a.attnum = any(k.conkey)) as is_checked,
      (select array[k.confrelid::regclass::text, ra.attname] from pg_constraint k join pg_attribute ra on ra.attrelid = k.confrelid
          and ra.attnum = k.confkey[array_position(k.conkey, a.attnum)]
        where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any(k.conkey) order by k.oid limit 1) as refers_to
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'keywarden'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`;
  return rows.map((row) => {
    const [table = '', column = ''] = (row.refers_to as string[] | null) ?? [];
    return {
      table: String(row.table),
      name: String(row.name),
      type: String(row.type),
      isUnique: row.is_unique === true,
      isChecked: row.is_checked === true,
      refersTo: row.refers_to === null ? null : [table.replace('keywarden.', ''), column],
    };
  });
}
