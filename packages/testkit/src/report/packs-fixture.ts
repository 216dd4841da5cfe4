import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveOperationPage } from '@keywarden/db/daemon';
import { afterAll, beforeAll, inject } from 'vitest';
import { makeWireOperation } from '../store/rows.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { download, type Files, pack, unpack, verifyBytes } from './packs.ts';

/** The days and the project of the archive of operations. */
export const period = 'from=2026-05-01&to=2026-05-03&project_id=quiet-river';

/** What an auditor gets from a report: an archive of operations and one of evidence, each as its files. */
export interface Packs {
  fixture: Fixture;
  folder: string;
  operations: Files;
  evidence: Files;
  /** Verifies an archive of these files with the public key of the ledger, or with another one. */
  verify(files: Files, key?: string): ReturnType<typeof verifyBytes>;
  close(): Promise<void>;
}

/** What the tests of a file share; `usePacks` sets it before the first of them. */
export let packs: Packs;
export let operations: Files;
export let evidence: Files;

/** Makes packs for the tests of a file, and removes them at its end. */
export function usePacks(): void {
  beforeAll(async () => {
    packs = await createPacks(inject('postgresUrl'));
    ({ operations, evidence } = packs);
  });
  afterAll(async () => await packs.close());
}

async function createPacks(postgresUrl: string): Promise<Packs> {
  const fixture = await makeFixture(postgresUrl);
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-packs-'));
  const { store, daemon, ledger } = fixture;
  const [project] = await store.sql`select number from keywarden.project where id = 'quiet-river'`;
  const number = String(project?.number);
  const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-04T00:00:00Z' };
  await store.sql`
    update keywarden.project set created_at = '2026-05-01', walked_at = '2026-05-31', last_seen_at = '2026-05-31' where number = ${number}`;
  const odd = { error: 'a "quoted"\nerror \u2028é', extra: { n: 1.5, '}': ['"'] }, retryAt: '2026-05-02T00:00:00.1Z' };
  await saveOperationPage(daemon.sql, {
    project: number,
    operations: [makeWireOperation(100_000, odd), makeWireOperation(100_001), makeWireOperation(190_000)],
    proof,
  });
  await store.sql`
    insert into keywarden.incident (kind, scope, detail) values ('breaker', 'organization:acme', '{"why": "a test"}')`;
  await store.sql`
    with granted as (insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('kept', 'ada', now(), now() + interval '30 days') returning number)
    insert into keywarden.exemption_key (exemption_number, key_number) select g.number, k.number from granted g, keywarden.credential k where k.id in ('12', '13')`;
  // The clock of the control plane is right: what people do now has a time of now.
  await store.sql`update keywarden.key_listing set received_at = listed_at`;
  const post = async (path: string, body?: object) => {
    const answer = await fixture.ask(path, { as: 'operator', method: 'POST', body });
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  await post(`/v1/plans/${fixture.planId}/rejections`, { reason: 'not now' });
  const { id } = await post('/v1/reviews', { title: 'signed', keys: { organization_id: 'acme' } });
  const keys = [fixture.keys['12'], fixture.keys['9007199254740993']];
  await post(`/v1/reviews/${String(id)}/decisions`, { keys, decision: 'keep', reason: 'in use' });
  await post(`/v1/reviews/${String(id)}/signature`);
  await ledger.sign();
  const operations = unpack(await download(fixture, `/v1/exports/sealed-operations?${period}`));
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const evidence = unpack(await download(fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
  return {
    fixture,
    folder,
    operations,
    evidence,
    verify: async (files, key = ledger.publicKey) => await verifyBytes(folder, pack(files), key),
    async close() {
      await fixture.close();
      rmSync(folder, { recursive: true });
    },
  };
}
