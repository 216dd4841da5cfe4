import type { WireCredential } from '@keywarden/core/wire';
import * as db from '@keywarden/db/daemon';
import * as fc from 'fast-check';
import { makeWireKey, makeWireOperation, makeWireProject } from '../store/rows.ts';
import { always, type Fixture, hourOf, ids, listedIn, type Noun, writing } from './fixture.ts';

// What daemons store of the lists of one organization. Two lists of the same place disagree.

/** Some ids, in any order. */
const someIds = (minLength = 0) => fc.shuffledSubarray(ids, { minLength });
/** An hour after the beginning of a round. The hours of two rounds overlap. */
const hour = fc.integer({ min: 1, max: 30 });
const hourIn = ({ round }: Fixture, at: number) => hourOf(12 * round + at);
const place = (fixture: Fixture, at: number) => ({
  controlPlane: fixture.controlPlane,
  seenAt: hourIn(fixture, at),
  organizationId: 'acme',
});

/** Organizations whose keys are listed. */
const organizationId = fc.constantFrom('acme', 'acme', 'acme', 'b', 'c');

const saveKeyListing = writing(
  fc.tuple(organizationId, someIds(), someIds(), hour),
  async (fixture, [organization, listed, changed, at]) => {
    const [lastUsedAt, listedAt] = [hourIn(fixture, at - 1), hourIn(fixture, at)];
    const keys = listed.map((id) => {
      const createdBy = { id: changed.includes(id) ? `creator ${at % 3}` : 'ada', name: null };
      return makeWireKey(id, { lastUsedAt, createdBy });
    });
    await db.saveKeyListing(fixture.daemon.sql, {
      ...listedIn(fixture, organization),
      listedAt,
      begunAt: listedAt,
      keys,
    });
  },
);
const countKeysOfDay = always(async ({ daemon }) => await db.countKeysOfDay(daemon.db));

const organizations: Noun = {
  writers: {
    saveOrganizations: writing(fc.tuple(someIds(), hour), async (fixture, [listed, at]) => {
      const rows = listed.map((id) => ({ id, name: `name at ${at}`, createdAt: hourOf(0), extra: null }));
      await db.saveOrganizations(fixture.daemon.sql, place(fixture, at), rows);
    }),
    saveMembers: writing(fc.tuple(someIds(), hour), async (fixture, [listed, at]) => {
      const rows = listed.map((id) => ({ id, userId: id, role: `role at ${at}`, joinedAt: null, email: id }));
      await db.saveMembers(fixture.daemon.sql, place(fixture, at), rows);
    }),
    saveRejectedRows: writing(fc.tuple(someIds(1), hour), async ({ daemon, controlPlane }, [listed, at]) => {
      const rows = listed.map((id) => ({ id, why: `odd at ${at}`, record: {} }));
      await db.saveRejectedRows(daemon.sql, { controlPlane, list: 'members', place: 'acme' }, rows);
    }),
    forgetRejectedRows: always(async ({ daemon }) => await db.forgetRejectedRows(daemon.db, 10)),
    countKeysOfDay,
    saveKeyListing,
  },
};

const saveProjects = writing(
  fc.tuple(someIds(), someIds(), hour, fc.boolean()),
  async (fixture, [listed, unavailableIds, at, isOlder]) => {
    const created = isOlder ? { createdAt: hourOf(-24 * fixture.round) } : {};
    const rows = listed.map((id) => makeWireProject(id, { name: `name at ${at}`, ...created }));
    await db.saveProjects(fixture.daemon.sql, { ...place(fixture, at), unavailableIds }, rows);
  },
);
const saveDeletedProjects = writing(fc.tuple(someIds(), hour), async (fixture, [listed, at]) => {
  const rows = listed.map((id) => makeWireProject(id, { deletedAt: hourIn(fixture, at) }));
  await db.saveDeletedProjects(fixture.daemon.sql, place(fixture, at), rows);
});

/** A page of eight operations of one of two projects, and how far its walk has come. */
const page = fc.record({
  index: fc.nat(1),
  numbers: fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7, 8], { minLength: 1 }),
  status: fc.constantFrom('running', 'finished', 'failed'),
  at: hour,
  isEnd: fc.boolean(),
});

const projects: Noun = {
  writers: {
    saveProjects,
    saveDeletedProjects,
    saveOperationPage: writing(page, async (fixture, { index, numbers, status, at, isEnd }) => {
      const below = hourOf(at - 720);
      const numberOf = (number: number) => 8 * (fixture.round % 10) + number;
      await db.saveOperationPage(fixture.daemon.sql, {
        project: fixture.projects[index] ?? '',
        operations: numbers.map((number) => makeWireOperation(numberOf(number), { status, updatedAt: below })),
        proof: { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below },
        walk: {
          beganAt: hourIn(fixture, at),
          floor: null,
          reached: below,
          isEnd,
          next: isEnd
            ? null
            : {
                cursor: 'c',
                below,
              },
        },
      });
    }),
    sealDays: always(async ({ daemon }) => {
      const { failures } = await db.sealDays(daemon.sql, { signal: new AbortController().signal });
      for (const { error } of failures) throw error;
    }),
    markWalkRefused: writing(fc.tuple(fc.nat(5), hour), async (fixture, [index, at]) => {
      const project = fixture.projects[index] ?? '';
      await db.markWalkRefused(fixture.daemon.db, { project, at: hourIn(fixture, at) });
    }),
    makeOperationPartitions: writing(fc.integer({ min: 1, max: 3 }), async ({ daemon }, month) => {
      await db.makeOperationPartitions(daemon.sql, [`2011-0${month}`, '2011-12'], 20);
    }),
    dropExpiredMonths: always(async ({ daemon, store }) => {
      for (const { month } of await db.announceExpiredMonths(daemon.sql))
        await store.sql`
          update keywarden.operation_drop set announced_at = now() - interval '1 day'
          where month = ${`${month}-01`} and announced_at > now() - interval '1 hour'`;
      for (const each of await db.announceExpiredMonths(daemon.sql))
        if (each.isDue) await db.dropExpiredMonth(daemon.sql, { ...each, by: 'ada' });
    }),
  },
};

/** Two projects whose credentials are listed. */
const projectId = fc.constantFrom('a', 'a', 'b');
const other = { kind: 'branch_credential', branchId: 'br-1', holder: null, expiresAt: null } as const;

const keys: Noun = {
  prepare: async ({ daemon }) => ({
    runs: [await db.startRun(daemon.sql, { kind: 'credentials', connection: 'main' })],
  }),
  writers: {
    saveKeyListing,
    saveCredentials: writing(
      fc.tuple(projectId, someIds(), someIds(), hour),
      async (fixture, [project, listed, gone, at]) => {
        const [lastUsedAt, listedAt] = [hourIn(fixture, at - 1), hourIn(fixture, at)];
        const scope = { ...listedIn(fixture, 'acme'), scope: `branch_credential:acme/${project}` };
        const rowsOf = (some: string[], revokedAt: string | null): WireCredential[] =>
          some.map((id) => ({ ...makeWireKey(id), ...other, projectId: project, lastUsedAt, revokedAt }));
        const shown = { keys: rowsOf(listed, null), ended: rowsOf(gone, listedAt) };
        await db.saveKeyListing(fixture.daemon.sql, { ...scope, listedAt, begunAt: listedAt, ...shown });
      },
    ),
    endCredentials: writing(hour, async (fixture, at) => {
      const { controlPlane, seenAt } = place(fixture, at);
      const ofRun = { run: fixture.fresh.runs?.[0] ?? '', lease: undefined };
      await db.endCredentialsOfGoneProjects(fixture.daemon.sql, { controlPlane, seenAt, ...ofRun });
    }),
    saveProjects,
    saveDeletedProjects,
    countKeysOfDay,
    reconcileIntents: always(async ({ daemon, controlPlane }) => {
      for (const scope of ['organization:acme', 'branch_credential:acme/a'])
        await db.reconcileIntents(daemon.sql, { controlPlane, scope });
    }),
  },
};

export const lists = { organizations, projects, keys };
