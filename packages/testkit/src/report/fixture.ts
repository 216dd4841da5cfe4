import { makePlan, policySchema } from '@keywarden/core/policy';
import { unknownCreator, type WireCredential, type WireKey } from '@keywarden/core/wire';
import {
  createToken,
  finishRun,
  makeOperationPartitions,
  openIncident,
  openRotation,
  saveKeyListing,
  saveOperationPage,
  savePlan,
  saveProjects,
  startRun,
} from '@keywarden/db/daemon';
import { authenticate, openSession } from '@keywarden/db/report';
import type { Store } from '@keywarden/db/store';
import type { createApp } from '@keywarden/report';
import type { Logger } from '@keywarden/runtime';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { createTestLedger, type TestLedger } from '@keywarden/testkit/store/ledger';
import { makeControlPlane, makeWireKey, makeWireOperation, makeWireProject } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { makeApp } from './app.ts';

// The basis of the report's tests: a store with two organizations, and the app as it is served, in the report's own role.

const controlPlaneNow = '2026-06-01T00:00:00Z';
export const operationCount = 25;

export interface Fixture {
  /** The store in its owner's role, for changes that a test makes without the apps. */
  store: TestStore;
  /** The store in the daemon's role, which fills it. */
  daemon: Store;
  app: ReturnType<typeof createApp>;
  ledger: TestLedger;
  log: Logger;
  /** Secrets of tokens by name: viewer, auditor, operator, and acme (an operator that sees only that organization). */
  tokens: Record<string, string>;
  ask(path: string, asked?: TestRequest): Promise<Answer>;
  makeToken(name: string, role: 'viewer' | 'auditor' | 'operator', organizationIds?: string[] | null): Promise<string>;
  /** Opens a session for a token by its name, and returns the id that the dashboard's cookie has. */
  signIn(name: string): Promise<string>;
  planId: string;
  /** The store's key numbers by id: 9007199254740993 and 12 belong to acme, 13 to other. */
  keys: Record<string, string>;
  close(): Promise<void>;
}

interface TestRequest {
  /** A token's name or its secret; null for no token. */
  as?: string | null;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // Tests read responses of many shapes.
  body: { items: Record<string, never>[]; next_cursor: string | null } & Record<string, never>;
}

/** Returns the report over a store that has something of everything; with `isEmpty`, over one in which nothing was ever listed. */
export async function makeFixture(postgresUrl: string, { isEmpty = false } = {}): Promise<Fixture> {
  const store = await createTestStore(postgresUrl);
  const daemon = await store.as('keywarden_daemon');
  const admin = await store.as('keywarden_admin');
  const { app, sql, log } = await makeApp(store);
  const planId = isEmpty ? '' : await fill(store, daemon);
  const ledger = createTestLedger(daemon);
  await ledger.sign();
  const tokens: Fixture['tokens'] = {};
  const fixture: Fixture = {
    store,
    daemon,
    app,
    ledger,
    log,
    tokens,
    planId,
    keys: Object.fromEntries(
      (await store.sql`select id, number from keywarden.key`).map((row) => [String(row.id), String(row.number)]),
    ),
    async makeToken(name, role, organizationIds = null) {
      const { number, secret } = await createToken(admin.db, { name, role, organizationIds, createdBy: 'ada' });
      tokens[name] = secret;
      return number;
    },
    async ask(path, { as = 'viewer', method = 'GET', body, headers = {} } = {}) {
      const secret = as === null ? undefined : (tokens[as] ?? as);
      const response = await app.request(path, {
        method,
        headers: {
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '');
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
    },
    async signIn(name) {
      const principal = await authenticate(sql, tokens[name] ?? '');
      if (principal === undefined) throw new Error(`there is no token ${name}`);
      return await openSession(sql, { principal, address: '127.0.0.1', agent: 'a test' });
    },
    close: async () => await store.close(),
  };
  for (const role of ['viewer', 'auditor', 'operator'] as const) await fixture.makeToken(role, role);
  await fixture.makeToken('second operator', 'operator');
  await fixture.makeToken('acme', 'operator', ['acme']);
  return fixture;
}

/**
 * Fills the store with two organizations and returns the plan's id. acme has a project with 25 operations and two keys; other has a project and a
 * key.
 */
async function fill({ sql: owner }: TestStore, daemon: Store): Promise<string> {
  const { sql } = daemon;
  const controlPlane = await makeControlPlane(sql);
  await makeOperationPartitions(sql, ['2026-05', controlPlaneNow.slice(0, 7)]);
  for (const [organizationId, projectId] of [
    ['acme', 'quiet-river'],
    ['other', 'bold-moon'],
  ] as const) {
    await owner`
      insert into keywarden.organization (control_plane_number, id, name, created_at, first_seen_at, last_seen_at)
      values (${controlPlane}, ${organizationId}, ${organizationId}, '2025-12-01', ${controlPlaneNow}, ${controlPlaneNow})`;
    const place = { controlPlane, seenAt: controlPlaneNow, organizationId, unavailableIds: [] };
    const extra = { locked: false };
    await saveProjects(sql, place, [
      makeWireProject(projectId, { createdAt: controlPlaneNow, updatedAt: controlPlaneNow, extra }),
    ]);
    const keys =
      organizationId === 'acme'
        ? [makeWireKey('9007199254740993', { name: '50%_off' }), makeWireKey('12', { projectId })]
        : [makeWireKey('13')];
    const scope = `organization:${organizationId}`;
    const listing = { controlPlane, scope, organizationId, connection: 'main', run: null };
    // Two listings in a row: the second begins after the first has ended.
    for (const begunAt of [controlPlaneNow, '2999-01-01T00:00:00Z'])
      await saveKeyListing(sql, { ...listing, listedAt: controlPlaneNow, begunAt, keys });
  }
  // The connection's own key appears in its listings.
  await owner`update keywarden.connection set own_key_id = '12'`;
  const [row] = await owner`select number from keywarden.project where id = 'quiet-river'`;
  const rows = Array.from({ length: operationCount }, (_, index) =>
    makeWireOperation(index, {
      ...(index < 20 ? { createdAt: '2026-05-03T00:00:00.5Z' } : {}),
      ...(index === 3 ? { status: 'running' } : {}),
    }),
  );
  const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-20T00:00:00Z' };
  await saveOperationPage(sql, { project: String(row?.number), operations: rows, proof });
  await saveOperationPage(sql, {
    project: String(row?.number),
    operations: [
      makeWireOperation(3, { createdAt: '2026-05-03T00:00:00.5Z', status: 'failed', updatedAt: controlPlaneNow }),
    ],
  });
  const run = await startRun(sql, { kind: 'keys', connection: 'main' });
  await finishRun(daemon.db, run, { status: 'finished', counts: { keys: 3 } });
  await openIncident(daemon.db, {
    kind: 'breaker',
    scope: `${controlPlane}/organization:other`,
    detail: { percent: 50 },
  });
  const planId = await plan(daemon);
  await revokeOne({ owner, daemon: sql, planId });
  return planId;
}

/** Evaluates the stored keys and stores the plan. */
export async function plan(daemon: Store, settings: object = {}): Promise<string> {
  const policy = policySchema.parse({
    rules: [{ name: 'never-used', never_used_for: '30d', action: 'revoke' }],
    ...settings,
  });
  const facts = await readFactsAt(daemon, controlPlaneNow, { maxEvidenceAgeMs: Number.POSITIVE_INFINITY });
  const made = makePlan(policy, facts);
  await savePlan(daemon.sql, made, policy);
  return made.id;
}

/** Stores a plan that revoked a key of other, and an open rotation. */
async function revokeOne({
  owner: sql,
  daemon,
  planId,
}: {
  owner: Store['sql'];
  daemon: Store['sql'];
  planId: string;
}): Promise<void> {
  const [key] = await sql`select number, control_plane_number, scope from keywarden.key where id = '13'`;
  const [listing] = await sql`select max(number) as number from keywarden.key_listing`;
  const [approval] = await sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values (${planId}, 'ada', 'command line', now())
    returning number`;
  await sql`insert into keywarden.approval_end (approval_number, how) values (${String(approval?.number)}, 'done')`;
  const [intent] = await sql`
    insert into keywarden.revocation_intent (plan_id, key_number, attempt, connection, approval_number, last_listing_number, judged_at)
    values (${planId}, ${String(key?.number)}, 1, 'main', ${String(approval?.number)}, ${String(listing?.number)}, ${controlPlaneNow}) returning number`;
  await sql`insert into keywarden.revocation_outcome (intent_number, outcome) values (${String(intent?.number)}, 'failed')`;
  const [old] = await sql`select number from keywarden.key where id = '9007199254740993'`;
  await openRotation(daemon, {
    id: 'abcd2345',
    key: String(old?.number),
    rule: null,
    sink: 'file',
    quietForMs: 7 * 86_400_000,
    adoptWithinMs: 14 * 86_400_000,
    via: 'command line',
    requestedBy: 'ada',
    policySha256: 'x',
    at: new Date().toISOString(),
  });
}

/** Returns a credential that is not an API key. By default it belongs to branch br-main in acme's project. */
export const makeCredential = (
  change: Pick<WireCredential, 'id' | 'kind'> & Partial<WireCredential>,
): WireCredential => ({
  name: change.id,
  projectId: 'quiet-river',
  branchId: 'br-main',
  holder: null,
  expiresAt: null,
  revokedAt: null,
  createdBy: { id: unknownCreator, name: null },
  createdAt: '2025-12-05T00:00:00Z',
  lastUsedAt: null,
  lastUsedFromAddr: null,
  extra: null,
  ...change,
});

/** Saves a listing of the API keys of acme, which is all that it has from then on. */
export async function listKeys({ daemon }: Fixture, listedAt: string, keys: WireKey[]): Promise<void> {
  const place = {
    controlPlane: '1',
    scope: 'organization:acme',
    organizationId: 'acme',
    connection: 'main',
    run: null,
  };
  await saveKeyListing(daemon.sql, { ...place, listedAt, begunAt: listedAt, keys });
}

/** Saves a listing of credentials of one kind and project. Returns the store's numbers of the existing ones by id. */
export async function listCredentials(
  { store, daemon }: Fixture,
  { organizationId, listedAt, keys }: { organizationId: string; listedAt: string; keys: WireCredential[] },
): Promise<Record<string, string>> {
  const [{ number: controlPlane } = {}] = await store.sql`select number from keywarden.control_plane`;
  const [first] = keys;
  const scope = `${first?.kind}:${organizationId}/${first?.projectId}`;
  const place = { controlPlane: String(controlPlane), scope, organizationId, connection: 'main', run: null };
  await saveKeyListing(daemon.sql, { ...place, listedAt, begunAt: listedAt, keys });
  const rows = await store.sql`select id, number from keywarden.credential where scope = ${scope}`;
  return Object.fromEntries(rows.map((row) => [String(row.id), String(row.number)]));
}
