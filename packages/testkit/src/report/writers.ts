import { randomBytes } from 'node:crypto';
import { createSigningKey, parseSigningKey } from '@keywarden/core/ledger';
import { makeRotationId } from '@keywarden/core/rotation';
import {
  advanceRotation,
  announceExpiredMonths,
  beginRevocation,
  closeIncidents,
  createToken,
  dropExpiredMonth,
  endApproval,
  endExemption,
  endLedgerKeys,
  endPause,
  grantExemption,
  makeOperationPartitions,
  noteLedgerKeys,
  openIncident,
  openIncidentOfKey,
  openPause,
  openRotation,
  readRotation,
  recordApproval,
  recordBeginning,
  recordOutcome,
  revokeToken,
  saveOperationPage,
} from '@keywarden/db/daemon';
import { type Store, setOperationRetention } from '@keywarden/db/store';
import { makeWireOperation } from '../store/rows.ts';
import type { makeApp } from './app.ts';
import { type Fixture, plan } from './fixture.ts';

/** A store as its roles see it, the report over it, and the rows that writers write about. */
export interface WriterContext {
  owner: Store;
  daemon: Store;
  admin: Store;
  app: Awaited<ReturnType<typeof makeApp>>['app'];
  rows: WriterRows;
}

export interface WriterRows {
  planId: string;
  /** Numbers of keys in the store. */
  key: string;
  revoked: string;
  listing: string;
  project: string;
  /** The secret of a token of role operator. */
  secret: string;
}

/** Returns the rows of the report's fixture that writers write about. */
export async function findRows({ store, keys, planId, tokens }: Fixture): Promise<WriterRows> {
  const [listing] = await store.sql`select max(number) as number from keywarden.key_listing`;
  const [project] = await store.sql`select number from keywarden.project where id = 'quiet-river'`;
  return {
    planId,
    key: String(keys['12']),
    revoked: String(keys['13']),
    listing: String(listing?.number),
    project: String(project?.number),
    secret: tokens.operator ?? '',
  };
}

/** What a crash process runs. */
export interface WriterOrder {
  databaseUrl: string;
  writer: string;
  rows: WriterRows;
  /** The message that writes, after which the process kills itself, counted from 1. A writer that sends fewer ends normally. */
  killAfter: number;
}

/** The name of the crash process's connections. */
export const writerName = 'a writer to kill';

const at = '2026-05-20T00:00:00Z';

/** Everything that writes governed rows, each with the kinds of events that it makes. The sequencer and the seals have a test of their own. */
export const writers: Record<string, { kinds: string[]; write: (place: WriterContext) => Promise<void> }> = {
  'plans and policies': {
    kinds: ['policy.stored', 'policy.in_force', 'plan.stored'],
    write: async ({ daemon }) => void (await plan(daemon, { quotas: { per_run: 1 + randomBytes(4).readUInt32LE() } })),
  },
  pauses: {
    kinds: ['pause.begun', 'pause.ended'],
    async write({ daemon }) {
      await openPause(daemon, { by: 'ada', reason: 'a test' }, { signal: new AbortController().signal });
      await endPause(daemon.db, 'ada');
    },
  },
  revocations: {
    kinds: ['plan.approved', 'revocation.intended', 'revocation.ended', 'incident.opened', 'plan.approval_ended'],
    async write({ daemon, rows: { planId, revoked, listing } }) {
      const { number: approval } = await recordApproval(daemon.db, { planId, approvedBy: 'ada', via: 'command line' });
      const intent = await beginRevocation(daemon.sql, {
        cause: { planId, approval },
        key: revoked,
        connection: 'main',
        listing,
        judgedAt: at,
        policySha256: 'x',
        lease: undefined,
      });
      // An intent of an earlier, killed writer may be open.
      const [open] = await daemon.sql`
        select number from keywarden.revocation_intent i where key_number = ${revoked}
          and not exists (select from keywarden.revocation_outcome o where o.intent_number = i.number)`;
      const number = intent ?? String(open?.number);
      await recordOutcome(daemon.sql, number, { outcome: 'failed', usedInFlight: true, at: null });
      await endApproval(daemon.db, approval, 'done');
    },
  },
  incidents: {
    kinds: ['incident.opened', 'incident.closed'],
    async write({ daemon, rows: { key } }) {
      await openIncident(daemon.db, { kind: 'configuration', scope: '', detail: { why: 'a test' } });
      for (const why of ['a test', 'another'])
        await openIncidentOfKey(daemon.db, { kind: 'orphan', key, scope: '', detail: { rotation: 'abcd2345', why } });
      await closeIncidents(daemon.db, { kind: 'configuration' }, { by: 'ada' });
      await closeIncidents(daemon.db, { kind: 'orphan' }, { by: 'ada' });
    },
  },
  rotations: {
    kinds: ['rotation.begun', 'rotation.moved', 'rotation.given_up'],
    async write({ daemon: { sql, db }, rows: { revoked } }) {
      const settings = { sink: 'file', quietForMs: 604_800_000, adoptWithinMs: 1_209_600_000 };
      const [open] =
        await sql`select number from keywarden.rotation where key_number = ${revoked} and ended_at is null`;
      const by = { rule: null, via: 'command line', requestedBy: 'ada', policySha256: 'x', at } as const;
      const { number } =
        open ?? (await openRotation(sql, { id: makeRotationId(randomBytes), key: revoked, ...settings, ...by }));
      const rotation = await readRotation(db, String(number));
      if (rotation === undefined) throw new Error('there is no rotation');
      await advanceRotation(sql, rotation, { event: 'given_up', by: 'ada', at });
    },
  },
  'exemptions of the command line': {
    kinds: ['exemption.granted', 'exemption.ended'],
    async write({ daemon: { sql }, rows: { key } }) {
      const granted = { keys: [key], rules: null, pattern: null, reason: 'a test', grantedBy: 'ada' };
      const number = await grantExemption(sql, { ...granted, grantedAt: at, until: '2999-01-01T00:00:00Z' });
      await endExemption(sql, { number, by: 'ada' });
    },
  },
  tokens: {
    kinds: ['token.created', 'token.revoked'],
    async write({ admin: { db } }) {
      const { number } = await createToken(db, {
        name: 'a test',
        role: 'viewer',
        organizationIds: null,
        createdBy: 'ada',
      });
      await revokeToken(db, { number, by: 'ada' });
    },
  },
  exports: {
    kinds: ['export.completed'],
    // The manifest of evidence names the time, so that no two files are the same.
    async write({ app, rows: { secret } }) {
      const path = '/v1/evidence?control=soc-2:CC6.1&from=2026-04-01&to=2026-05-01';
      const answer = await app.request(path, { headers: { authorization: `Bearer ${secret}` } });
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
      await answer.arrayBuffer();
    },
  },
  retention: {
    kinds: ['retention.set', 'retention.dropped'],
    async write({ owner, daemon, rows: { project } }) {
      await setOperationRetention(owner.sql, (400 + (Date.now() % 100)) * 86_400_000);
      await makeOperationPartitions(daemon.sql, ['2020-01']);
      const operations = [makeWireOperation(0, { createdAt: '2020-01-05T00:00:00Z' })];
      await saveOperationPage(daemon.sql, { project, operations });
      const [announced] = await announceExpiredMonths(daemon.sql);
      await owner.sql`
        update keywarden.operation_drop set announced_at = announced_at - interval '2 days' where month = '2020-01-01'`;
      if (announced?.month === '2020-01') await dropExpiredMonth(daemon.sql, { ...announced, by: 'ada' });
    },
  },
  'keys of the ledger': {
    kinds: ['ledger.key_added', 'ledger.key_ended', 'ledger.begun_anew'],
    async write({ daemon: { db } }) {
      const publicKey = parseSigningKey(createSigningKey('another', 'log'))?.verifier.text ?? '';
      await noteLedgerKeys(db, [{ publicKey, endorsement: null }]);
      await endLedgerKeys(db, [publicKey]);
      await recordBeginning(db, { reason: 'a test', begunBy: 'ada' });
    },
  },
  'decisions of the report': {
    kinds: ['plan.approved', 'plan.rejected'],
    // No person approves a plan twice, and a killed writer may have.
    async write(place) {
      const [newest] = await place.owner.sql`select id from keywarden.plan order by created_at desc limit 1`;
      const planId = String(newest?.id);
      const [approval] = await place.owner
        .sql`select from keywarden.plan_standing where plan_id = ${planId} and approvers > 0`;
      if (approval === undefined) await post(place, `/v1/plans/${planId}/approvals`);
      await post(place, `/v1/plans/${planId}/rejections`, { reason: 'a test' });
    },
  },
  'exemptions of the report': {
    kinds: ['exemption.granted', 'exemption.ended'],
    async write(place) {
      const { id } = await post(place, '/v1/exemptions', { keys: [place.rows.key], reason: 'a test', for: '30d' });
      await post(place, `/v1/exemptions/${id}/end`);
    },
  },
  reviews: {
    kinds: ['review.opened', 'review.decided', 'review.signed'],
    async write(place) {
      const { id } = await post(place, '/v1/reviews', { title: 'a test', keys: { organization_id: 'other' } });
      const decision = { keys: [place.rows.revoked], decision: 'keep', reason: 'a test' };
      await post(place, `/v1/reviews/${id}/decisions`, decision);
      await post(place, `/v1/reviews/${id}/signature`);
    },
  },
  campaigns: {
    kinds: ['campaign.opened', 'review.opened', 'campaign.canceled'],
    async write(place) {
      const settings = {
        title: 'a test',
        split_by: 'organization',
        due_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
      };
      const { id } = await post(place, '/v1/campaigns', settings);
      await post(place, `/v1/campaigns/${id}/cancel`, { reason: 'a test' });
    },
  },
};

async function post({ app, rows: { secret } }: WriterContext, path: string, body?: object): Promise<{ id: string }> {
  const response = await app.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.status >= 300) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string };
}
