import { hashOperation, readMembers, rootOfLeaves } from '@keywarden/core/ledger';
import { makeOperationPartitions, saveOperationPage, sealDays } from '@keywarden/db/daemon';
import { operationList, readPage } from '@keywarden/db/report';
import type { Sql, Store } from '@keywarden/db/store';
import { makeControlPlane, makeProject, makeWireOperation } from './rows.ts';
import { createTestStore, type TestStore } from './test-store.ts';

// Projects whose days of May 2026 are sealed.

export const day = (number: number) => `2026-05-${String(number).padStart(2, '0')}`;
/** The first instant of a day of May. */
export const at = (number: number) => `${day(number)}T00:00:00Z`;
/** Seconds from 1 May to noon of a day of May. */
export const noon = (number: number) => (number - 1) * 86_400 + 43_200;
export const proofOf = (from: number, below: number) => ({ from: at(from), isFromIncluded: true, below: at(below) });

export interface StoredSeal {
  number: string;
  day: string;
  operations: number;
  root: string;
  gaps: string;
  replaces: string | null;
}

export interface Sealing {
  store: TestStore;
  daemon: Store;
  controlPlane: string;
  /** Creates a walked project that was last listed on a day of May. */
  makeWalked(listed: number): Promise<string>;
  /** Creates a project whose month 2025-MONTH has one operation on its second day, and is covered and sealed. */
  makeSealedMonth(month: string): Promise<{ project: string; operation: ReturnType<typeof makeWireOperation> }>;
  seal(): ReturnType<typeof sealDays>;
  sealsOf(project: string): Promise<StoredSeal[]>;
  /** Lets changes count as old enough to be sealed again. */
  waitQuiet(): Promise<void>;
  /** Returns the root of a day of May as anybody computes it from the lines of an export. */
  rootOfDay(project: string, number: number): Promise<string>;
  /** Drops a month as retention does, and creates it anew for the next test. */
  dropMonth(month: string): Promise<void>;
  /** Lets retention drop a month, and returns the drop. */
  announceDrop(month: string): Promise<(session: Pick<Sql, 'unsafe'>) => Promise<void>>;
}

/** Creates a store whose operations are sealed by a test. */
export async function createSealing(postgresUrl: string): Promise<Sealing> {
  const store = await createTestStore(postgresUrl);
  const daemon = await store.as('keywarden_daemon');
  const controlPlane = await makeControlPlane(daemon.sql);
  await makeOperationPartitions(daemon.sql, ['2026-05']);
  const seal = async () => await sealDays(daemon.sql, { signal: new AbortController().signal });
  const announceDrop = async (month: string) => {
    await store.sql`delete from keywarden.operation_retention`;
    await store.sql`insert into keywarden.operation_retention (keep) values ('214 days')`;
    await store.sql`
      insert into keywarden.operation_drop (month, announced_at, operations, bytes) values (${`${month}-01`}, now() - interval '2 days', 0, 0)`;
    return async (session: Pick<Sql, 'unsafe'>) => {
      await session.unsafe(`select keywarden.drop_operation_month('${month}-01', 'a test')`);
    };
  };
  return {
    store,
    daemon,
    controlPlane,
    seal,
    async makeWalked(listed) {
      const project = await makeProject(daemon.sql, controlPlane);
      await store.sql`
        update keywarden.project set created_at = ${at(1)}, walked_at = ${at(listed)}, last_seen_at = ${at(listed)} where number = ${project}`;
      return project;
    },
    async makeSealedMonth(month) {
      await makeOperationPartitions(daemon.sql, [`2025-${month}`]);
      const project = await makeProject(daemon.sql, controlPlane);
      const [from, below] = [`2025-${month}-01T00:00:00Z`, `2025-${month}-05T00:00:00Z`];
      await store.sql`
        update keywarden.project set created_at = ${from}, walked_at = ${below}, last_seen_at = ${below} where number = ${project}`;
      const createdAt = `2025-${month}-02T00:00:00Z`;
      const operation = makeWireOperation(0, { createdAt, updatedAt: createdAt, status: 'running' });
      const proof = { from, isFromIncluded: true, below };
      await saveOperationPage(daemon.sql, { project, operations: [operation], proof });
      await seal();
      return { project, operation };
    },
    async sealsOf(project) {
      return await store.sql<StoredSeal[]>`
        select number::text, day::text, operations::int, root, gaps, replaces::text from keywarden.operation_seal s where project_number = ${project} order by s.number`;
    },
    async waitQuiet() {
      await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour'`;
    },
    async rootOfDay(project, number) {
      const list = operationList({ from: at(number), to: at(number + 1) }, [project]);
      const { items } = await readPage(daemon.db, list, { limit: 1000, after: null });
      const leaves = items.toReversed().map((line) => hashOperation(readMembers(line)));
      return Buffer.from(rootOfLeaves(leaves)).toString('hex');
    },
    announceDrop,
    async dropMonth(month) {
      const drop = await announceDrop(month);
      await drop(daemon.sql);
    },
  };
}
