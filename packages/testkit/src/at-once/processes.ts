import { formatCheckpoint, parseCheckpoint } from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import * as report from '@keywarden/db/report';
import * as fc from 'fast-check';
import { makeControlPlane } from '../store/rows.ts';
import { always, hourOf, ids, type Noun, writing } from './fixture.ts';

// What processes record about themselves, about the people who use them, and in the ledger.

const id = fc.constantFrom(...ids);
const someIds = fc.shuffledSubarray(ids, { minLength: 1 });
const uuidOf = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;
const replica = fc.integer({ min: 1, max: 2 }).map(uuidOf);
const signal = () => new AbortController().signal;

const replicas: Noun = {
  writers: {
    saveConnection: writing(id, async ({ daemon }, name) => await makeControlPlane(daemon.sql, { name })),
    removeOtherConnections: writing(someIds, async ({ daemon }, names) => {
      await db.removeOtherConnections(daemon.db, ['main', ...names]);
    }),
    recordReplicaPolicy: writing(replica, async ({ daemon }, each) => {
      await db.recordReplicaPolicy(daemon.db, { replica: each, policySha256: 'x', why: null });
    }),
    endReplica: writing(replica, async ({ daemon }, each) => await db.endReplica(daemon.db, each)),
    job: writing(fc.tuple(replica, id, id, someIds), async ({ daemon }, [each, kind, account, connections]) => {
      const run = { jobId: each, kind, account, slotAt: null, attempt: 1, replica: each };
      const number = await db.startJobRun(daemon.db, run);
      await db.finishJobRun(daemon.sql, { number, outcome: 'done', connections: ids });
      const diedAt = new Date(Date.now() + 3_600_000);
      await db.openJobIncident(daemon.sql, { kind, account, connections, jobId: each, diedAt });
    }),
    claimSlot: writing(fc.integer({ min: 1, max: 3 }), async ({ daemon, round }, place) => {
      const slot = { schedule: 'keys', slotMs: (3 * round + place) * 1000 };
      await daemon.sql.begin(async (tx) => {
        if (await db.claimSlot(tx, { ...slot, replica: null })) await db.recordSlotJobs(tx, { ...slot, jobs: 1 });
      });
    }),
    forgetOldJobs: always(async ({ daemon }) => await db.forgetOldJobs(daemon.sql, 0)),
    reserve: writing(someIds, async ({ daemon }, names) => {
      const budgets = db.createBudgetRows(daemon.sql);
      const { rows } = await budgets.read(names);
      await budgets.save(names.map((key) => ({ key, version: rows.get(key)?.version ?? '0', state: {} })));
    }),
    openIncidents: writing(someIds, async ({ daemon }, scopes) => {
      for (const scope of scopes) await db.openIncident(daemon.db, { kind: 'breaker', scope, detail: {} });
    }),
    closeIncidents: writing(someIds, async ({ daemon }, scopes) => {
      await db.closeIncidents(daemon.db, { kind: 'breaker', scopes });
    }),
    hold: writing(id, async ({ daemon }, name) => {
      await daemon.locks.hold(name, { signal: signal() }, async (lease) => await db.isHeld(daemon.sql, lease));
    }),
    saveEnforcementState: writing(id, async ({ daemon }, machine) => {
      const state = { whyNotApproved: null, whyNotAutomatic: null, approvalsSince: null, nextAt: null, sinks: 1 };
      await db.saveEnforcementState(daemon.db, machine, state);
    }),
    addMark: writing(fc.boolean(), async (fixture, isReport) => {
      if (isReport) await report.addMark(fixture.report.db, 'report');
      else await db.addMark(fixture.daemon.db, 'daemon');
      await report.reportOlderStore(fixture.report.db);
      await db.closeIncidents(fixture.daemon.db, { kind: 'high_water_mark' });
    }),
  },
};

const access = fc.tuple(someIds, fc.nat(1), fc.boolean(), fc.constantFrom(200, 403, 404, 429));

const people: Noun = {
  writers: {
    session: writing(fc.tuple(fc.nat(1), fc.nat(10)), async (fixture, [who, before]) => {
      const principal = fixture.people[who];
      if (principal === undefined) return;
      const secret = await report.openSession(fixture.report.sql, { principal, address: 'x', agent: 'x' });
      const hash = report.hashCredential(secret);
      await fixture.store.sql`
        update keywarden.report_session set last_seen_at = last_seen_at - interval '2 minutes' where session_hash = ${hash}`;
      await report.authenticate(fixture.report.sql, secret);
      const [last] = await fixture.report.sql`select max(number) - ${before} as number from keywarden.report_session`;
      const number = String(last?.number);
      await report.endSession(fixture.report.sql, principal, number);
      await db.revokeSession(fixture.admin.db, { number, by: 'ada' });
    }),
    recordAccess: writing(access, async (fixture, [networks, who, isFile, status]) => {
      const request = { requestId: uuidOf(1), credential: fixture.people[who]?.credential ?? null, method: 'GET' };
      const stream = isFile ? ('complete' as const) : null;
      const answer = {
        path: '/v1/keys',
        query: '',
        status,
        event: 'request' as const,
        sha256: null,
        records: 1,
        stream,
      };
      const accesses = networks.map((network) => ({
        ...request,
        ...answer,
        address: network,
        network,
        fileSha256: isFile ? sha256(`${network} ${fixture.round}`) : null,
      }));
      await report.recordAccess(fixture.report.sql, accesses);
    }),
    forgetAccesses: always(async ({ daemon }) => await db.forgetAccesses(daemon.sql, 0)),
    token: writing(id, async ({ admin, round }, name) => {
      const token = { name, role: 'viewer' as const, organizationIds: null, createdBy: 'ada' };
      await db.ensureToken(admin.db, token, `${name} ${round}`);
      const [last] = (await db.listTokens(admin.db)).slice(-1);
      if (last?.role === 'viewer') await db.revokeToken(admin.db, { number: last.number, by: 'ada' });
    }),
  },
};

const publicKeysOf = (round: number, names: string[]) => names.map((name) => `${name} of round ${round}`);

const ledger: Noun = {
  writers: {
    noteLedgerKeys: writing(fc.tuple(someIds, fc.boolean()), async ({ daemon, round }, [names, isEndorsed]) => {
      const endorsement = isEndorsed ? 'a note' : null;
      const keys = publicKeysOf(round, names).map((publicKey) => ({ publicKey, endorsement }));
      await db.noteLedgerKeys(daemon.db, keys);
    }),
    endLedgerKeys: writing(someIds, async ({ daemon, round }, names) => {
      await db.endLedgerKeys(daemon.db, publicKeysOf(round, names));
    }),
    integrateEvents: writing(fc.integer({ min: 1, max: 50 }), async ({ daemon }, limit) => {
      const result = await db.integrateEvents(daemon.sql, {
        limit,
        seen: null,
        open: parseCheckpoint,
        sign: (head) =>
          formatCheckpoint({
            origin: 'log',
            ...head,
          }),
      });
      if (typeof result === 'string') throw new Error(result);
    }),
    saveCosignature: writing(id, async ({ daemon }, witness) => {
      const newest = await db.readNewestCheckpoint(daemon.db);
      if (newest !== null) await db.saveCosignature(daemon.db, { size: newest.size, witness, lines: hourOf(1) });
    }),
    openLedgerIncident: writing(id, async ({ daemon }, why) => await db.openLedgerIncident(daemon.db, why)),
    closeIncidents: always(async ({ daemon }) => await db.closeIncidents(daemon.db, { kind: 'ledger_inconsistent' })),
    pause: always(async ({ daemon }) => {
      await db.openPause(daemon, { by: 'ada', reason: null }, { signal: signal() });
      await db.endPause(daemon.db, 'ada');
    }),
  },
};

export const processes = { replicas, people, ledger };
