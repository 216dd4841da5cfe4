import type { WireOperation } from '@keywarden/core/wire';
import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, startTestPostgres, type TestStore } from '@keywarden/testkit/store/test-store';
import { Pool } from 'pg';
import { count, median, readNumber, timed } from './measure.ts';

const pageSize = 1000;
const rounds = 5;
const questions = 4000;

/** The part of a driver's interface that the benchmark uses: its tagged templates. */
type Tag = (strings: TemplateStringsArray, ...values: unknown[]) => Query;

/** A statement, or a fragment of another. */
interface Query extends Promise<unknown[]> {
  strings: TemplateStringsArray;
  values: unknown[];
}

/**
 * `drivers [--pages N]`: the pages of operations that ingest writes (100 in each round by default), and single queries. They run through postgres.js
 * as patched and through pg with prepared statements, alternately on one server. The yardstick is postgres.js (docs/adr/0013, 0021).
 */
export async function benchDrivers(args: string[]): Promise<void> {
  const pages = readNumber(args, 'pages', 100);
  const postgres = await startTestPostgres({ isDurable: true });
  const store = await createTestStore(postgres.url);
  const pool = new Pool({ connectionString: store.url, max: 10 });
  try {
    const drivers: Record<string, Sql> = { postgres: store.sql, pg: templatesOf(pool) };
    const rates: Record<string, { pages: number[]; questions: number[]; together: number[] }> = {};
    for (let round = 0; round < rounds; round += 1)
      for (const [name, sql] of Object.entries(drivers)) {
        const of = (rates[name] ??= { pages: [], questions: [], together: [] });
        of.pages.push(await pageRate(store, sql, pages));
        of.questions.push(await questionRate(sql, 1));
        of.together.push(await questionRate(sql, 10));
      }
    for (const what of ['pages', 'questions', 'together'] as const) {
      const [ours, theirs] = [median(rates.postgres?.[what] ?? []), median(rates.pg?.[what] ?? [])];
      console.log(
        `${units[what].padEnd(34)} postgres ${count(ours)} a second, pg ${count(theirs)}: ${(theirs / ours).toFixed(2)}`,
      );
    }
  } finally {
    await pool.end();
    await store.close();
    await postgres.close();
  }
}

const units = {
  pages: 'operations in pages of a thousand',
  questions: 'queries, one after the other',
  together: 'queries, ten at a time',
};

/** Returns the operations written per second, in a project of its own. */
async function pageRate(store: TestStore, sql: Sql, pages: number): Promise<number> {
  const project = await makeProject(store.sql, await makeControlPlane(store.sql));
  await makeOperationPartitions(store.sql, ['2026-05']);
  const written = Array.from({ length: pages }, (_, page) =>
    Array.from({ length: pageSize }, (_unused, row): WireOperation => makeWireOperation(page * pageSize + row)),
  );
  const { seconds } = await timed(async () => {
    for (const operations of written) await saveOperationPage(sql, { project, operations });
  });
  return (pages * pageSize) / seconds;
}

async function questionRate(sql: Sql, atOnce: number): Promise<number> {
  const ask = async () => {
    for (let asked = 0; asked < questions / atOnce; asked += 1)
      await sql`select id, name from keywarden.project where number = ${String(asked + 1)}::bigint`;
  };
  const { seconds } = await timed(async () => await Promise.all(Array.from({ length: atOnce }, ask)));
  return questions / seconds;
}

/** Provides the templates of postgres.js over a pool of pg: each text is prepared once per connection. */
function templatesOf(pool: Pool): Sql {
  const names = new Map<string, string>();
  const fragments = new WeakSet<Query>();
  const send = async (query: Query) => {
    const values: unknown[] = [];
    const text = textOf(query, values);
    const name = names.get(text) ?? `s${names.size}`;
    names.set(text, name);
    return (await pool.query({ name, text, values })).rows as unknown[];
  };
  const tag: Tag = (strings, ...values) => {
    for (const value of values) if (isQuery(value)) fragments.add(value);
    // By the next turn, a template that contains this one has marked it.
    const sent = Promise.resolve().then(async () => (fragments.has(query) ? [] : await send(query)));
    const query: Query = Object.assign(sent, { strings, values });
    return query;
  };
  return tag as unknown as Sql; // the part of it that pages and queries use
}

const isQuery = (value: unknown): value is Query => typeof value === 'object' && value !== null && 'strings' in value;

function textOf({ strings, values }: Query, into: unknown[]): string {
  return strings.reduce((text, part, index) => {
    const value = values[index - 1];
    if (isQuery(value)) return text + textOf(value, into) + part;
    into.push(value);
    return `${text}$${into.length}${part}`;
  });
}
