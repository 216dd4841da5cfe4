import { setTimeout } from 'node:timers/promises';
import { codeOf } from '@keywarden/runtime';
import { listViewsToDrop } from './repeatables.ts';
import { hasTable, readNumber, type Sql, sqlState } from './sql.ts';

/** The longest wait for all locks together, in ms. Statements of the apps wait as long behind it. */
const mostMs = 500;
/** The shortest, for a server whose deadlock_timeout is very short: the locks alone take some milliseconds. */
const leastMs = 50;

/**
 * Locks what statements and the files of db/functions change, for a transaction, and drops the views. The apps lock the same tables and views in other
 * orders. Therefore the migration gives up before Postgres looks for sessions that wait in a circle, lets those behind it continue, and tries again.
 */
export async function lockChanged(session: Sql, statements: string[]): Promise<void> {
  const tables = await listTables(session, statements);
  // Keeps only vacuum out, and waits only for that: a vacuum takes longer than the limit below.
  if (tables.length > 0) await session.unsafe(`lock table ${tables.join(', ')} in share update exclusive mode`);
  const steps = [
    // Months would be dropped while the rights of all tables are written. Who drops one waits for readers for seconds, so nothing else is locked yet.
    ...((await hasTable(session, 'keywarden.operation'))
      ? [`lock table only keywarden.operation in share update exclusive mode`]
      : []),
    ...(tables.length > 0 ? [`lock table ${tables.join(', ')} in access exclusive mode`] : []),
    `drop view if exists ${listViewsToDrop().join(', ')}`,
  ];
  const lookMs = await readNumber(session`select setting::int from pg_settings where name = 'deadlock_timeout'`);
  const limitMs = Math.max(leastMs, Math.min(Math.floor(lookMs / 2), mostMs));
  const whileNoneLooks = [giveUpBefore({ lookMs, limitMs }), ...steps];
  await session`savepoint unlocked`;
  for (let pauses = 1; ; pauses += 1) {
    if (await succeedsWithin(limitMs, session, pauses % mostPauses === 0 ? steps : whileNoneLooks)) return;
    await setTimeout(limitMs / 2);
  }
}

/** Sessions may wait for each other all the time. After so many pauses, a minute or less, a try does not depend on them. */
const mostPauses = 240;

/**
 * Returns a statement that fails if a session with locks of our tables has waited for so long that Postgres looks during the try whether it waits in a circle.
 * If the one that it waits for waits for the migration, it would be ended, although the migration gives up.
 */
const giveUpBefore = ({ lookMs, limitMs }: { lookMs: number; limitMs: number }) => `
  if exists (select from pg_locks waiting join pg_locks held using (pid) join pg_class c on c.oid = held.relation
    where not waiting.granted and held.granted and held.database = (select oid from pg_database where datname = current_database())
      and c.relnamespace = 'keywarden'::regnamespace and clock_timestamp() - waiting.waitstart
        between ${lookMs - 1.5 * limitMs} * interval '1 ms' and ${lookMs + 0.5 * limitMs} * interval '1 ms')
  then raise exception using errcode = '${sqlState.lockNotAvailable}'; end if`;

/** Returns the tables that statements name, those with triggers, the ledger, and the list of what was applied. */
async function listTables(session: Sql, statements: string[]): Promise<string[]> {
  const named = statements.flatMap((text) =>
    [...text.matchAll(/"?keywarden"?\."?(\w+)/g)].map(([, name = '']) => name),
  );
  named.push('ledger_event', 'repeatable');
  const rows = await session`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'keywarden' and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'migration'
      and (c.relname = any(${named})
        or exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid where t.tgrelid = c.oid and p.pronamespace = n.oid)) order by 1`;
  return rows.map(({ name }) => String(name));
}

/** Runs statements. Returns false, and leaves nothing of them, if they would take longer, or if one gives up. */
async function succeedsWithin(ms: number, session: Sql, steps: string[]): Promise<boolean> {
  const beganMs = performance.now();
  try {
    await session.unsafe(`set local statement_timeout = ${ms}`);
    await session.unsafe(`do $$ begin ${steps.join('; ')}; end $$`);
    await session`set local statement_timeout = 0`;
    return true;
  } catch (error) {
    // An administrator may cancel the statement, too.
    const isOver = codeOf(error) === sqlState.queryCanceled && performance.now() - beganMs >= ms;
    if (!isOver && codeOf(error) !== sqlState.lockNotAvailable) throw error;
    await session`rollback to savepoint unlocked`;
    return false;
  }
}
