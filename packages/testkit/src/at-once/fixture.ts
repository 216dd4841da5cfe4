import { makePlan, type Plan, type Policy, policySchema } from '@keywarden/core/policy';
import {
  makeOperationPartitions,
  saveKeyListing,
  saveOrganizations,
  savePlan,
  saveProjects,
} from '@keywarden/db/daemon';
import type { Principal } from '@keywarden/db/report';
import { type Sql, type Store, setOperationRetention } from '@keywarden/db/store';
import * as fc from 'fast-check';
import { readFactsAt } from '../store/facts.ts';
import { makePrincipal } from '../store/principal.ts';
import { makeControlPlane, makeWireKey, makeWireProject } from '../store/rows.ts';
import { createTestStore, type TestStore } from '../store/test-store.ts';

/** A store that several daemons, reports and people write at once. Numbers are those of the store. */
export interface Fixture {
  store: TestStore;
  daemon: Store;
  report: Store;
  admin: Store;
  controlPlane: string;
  projects: string[];
  keys: string[];
  people: Principal[];
  policy: Policy;
  plans: Plan[];
  listing: string;
  /** The number of the round. */
  round: number;
  /** What `prepare` of a noun made for this round. */
  fresh: Record<string, string[]>;
}

/** One write, with its input. */
export type Write = (fixture: Fixture) => Promise<unknown>;

/** Writers of the same rows, by name. `prepare` makes rows that each round uses up. */
export interface Noun {
  prepare?: (fixture: Fixture) => Promise<Fixture['fresh']>;
  writers: Record<string, fc.Arbitrary<Write>>;
}

/** Returns a writer that draws its input. */
export const writing = <Input>(
  input: fc.Arbitrary<Input>,
  write: (fixture: Fixture, input: Input) => Promise<unknown>,
): fc.Arbitrary<Write> => input.map((drawn) => async (fixture) => await write(fixture, drawn));

/** Returns a writer without an input. */
export const always = (write: Write): fc.Arbitrary<Write> => fc.constant(write);

/** Ids of organizations, projects, keys and people. */
export const ids = ['a', 'b', 'c', 'd', 'e', 'f'];

/** Returns an hour of June 2026, RFC 3339. */
export const hourOf = (hour: number) => new Date(Date.UTC(2026, 5, 1, hour)).toISOString().replace('.000Z', 'Z');

/** Where a listing of an organization's keys comes from. */
export const listedIn = ({ controlPlane }: Pick<Fixture, 'controlPlane'>, organizationId: string) => ({
  controlPlane,
  scope: `organization:${organizationId}`,
  organizationId,
  connection: 'main',
  run: null,
});

/**
 * Creates a fixture with an organization, its projects and its keys. Postgres looks for sessions that wait in a circle after `deadlockMs`, by default at once.
 */
export async function createFixture(postgresUrl: string, { deadlockMs = 10 } = {}): Promise<Fixture> {
  const store = await createTestStore(postgresUrl);
  await slowDown(store.sql, deadlockMs);
  const daemon = await store.as('keywarden_daemon');
  const { sql } = daemon;
  const controlPlane = await makeControlPlane(sql);
  const place = { controlPlane, seenAt: hourOf(0), organizationId: 'acme' };
  await saveOrganizations(sql, place, [{ id: 'acme', name: 'acme', createdAt: hourOf(0), extra: null }]);
  const projects = ids.map((id) => makeWireProject(id));
  await saveProjects(sql, { ...place, unavailableIds: [] }, projects);
  await makeOperationPartitions(sql, ['2026-05']);
  await setOperationRetention(store.sql, 10 * 365 * 86_400_000);
  const keys = ids.map((id) => makeWireKey(id));
  const listed = { ...listedIn({ controlPlane }, 'acme'), listedAt: hourOf(0), begunAt: hourOf(0), keys };
  const { number: listing } = await saveKeyListing(sql, listed);
  const numbersOf = async (table: string) =>
    (await sql`select number from keywarden.${sql(table)} order by number`).map(({ number }) => String(number));
  const policy = policySchema.parse({ rules: [{ name: 'unused', never_used_for: '30d', action: 'revoke' }] });
  const facts = await readFactsAt(daemon, hourOf(1));
  const plans = [6, 4].map((count) => makePlan(policy, { ...facts, keys: facts.keys.slice(0, count) }));
  for (const plan of plans) await savePlan(sql, plan, policy);
  return {
    store,
    daemon,
    controlPlane,
    policy,
    plans,
    listing: String(listing),
    round: 0,
    fresh: {},
    report: await store.as('keywarden_report'),
    admin: await store.as('keywarden_admin'),
    projects: await numbersOf('project'),
    keys: await numbersOf('key'),
    people: [await makePrincipal(store, 'ada'), await makePrincipal(store, 'bob')],
  };
}

/** Makes it likely that writers meet: each row that is written takes a millisecond, while the rows before it are locked. */
async function slowDown(sql: Sql, deadlockMs: number): Promise<void> {
  await sql.unsafe(`
    create function public.take_a_moment() returns trigger language plpgsql as
      'begin perform pg_sleep(0.001); return coalesce(new, old); end';
    do $$
    declare
      name text;
    begin
      execute format('alter database %I set deadlock_timeout = ${deadlockMs}', current_database());
      for name in select c.relname from pg_class c
        where c.relnamespace = 'keywarden'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      loop
        execute format('create trigger a_moment before insert or update or delete on keywarden.%I for each row '
          'execute function public.take_a_moment()', name);
        execute format('create trigger a_moment_after after insert on keywarden.%I for each row '
          'execute function public.take_a_moment()', name);
      end loop;
    end
    $$`);
}
