import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { decideReview, openReview, requestRotation, signReview } from '@keywarden/db/report';
import {
  fixture,
  folder,
  pass,
  prepare,
  states,
  store,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { rotate } from './rotate.ts';

useRotateFixture();

test('a request for the key of a connection that cannot authenticate now waits until it can', async () => {
  await prepare([], { policy: policySchema.parse({ rules: [] }) });
  const own = await fixture.ask<{ id: number; key: string }>('POST', '/api_keys', { key_name: 'daemon' });
  const [main] = fixture.context.config.connections;
  if (main === undefined) throw new Error('the fixture has no connection');
  const keyFile = join(folder, 'own');
  writeFileSync(keyFile, own.key);
  fixture.context.config.connections.push({ ...main, name: 'second', apiKey: own.key, keyId: String(own.id), keyFile });
  await pass(60, { acts: false });
  const [key] = await store.sql`select number from keywarden.key where name = 'daemon'`;
  const principal = await makePrincipal(store, 'grace');
  const report = (await store.as('keywarden_report')).sql;
  await requestRotation(report, { key: String(key?.number), principal, reason: 'it leaked' });
  const usable = fixture.connections.filter(({ name }) => name === 'main');
  const { opened } = await rotate(fixture.context, usable);
  expect(opened).toMatchObject([{ whyNot: 'it belongs to the lineage of connection second’s own key' }]);
  await pass();
  expect(await states()).toEqual(['daemon: delivered']);
});

test('a request that no usable connection can carry out waits while another may be able to', async () => {
  await prepare(['bot']);
  const [key] = await store.sql`select number from keywarden.key where name = 'bot'`;
  const rule = { name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } };
  const { config } = fixture.context;
  config.policy = policySchema.parse({ rules: [rule] });
  const report = (await store.as('keywarden_report')).sql;
  const principal = await makePrincipal(store, 'grace');
  await requestRotation(report, { key: String(key?.number), principal, reason: 'it leaked' });
  const cannotMint = fixture.connections.map((each) => ({ ...each, isPersonal: false }));
  config.connections.push(...config.connections.map((each) => ({ ...each, name: 'unusable' })));
  const answers = async () =>
    (await store.sql`select why_not from keywarden.rotation_request_answer`).map((row) => String(row.why_not));
  await rotate(fixture.context, cannotMint);
  expect(await answers()).toEqual([]);
  config.connections.pop();
  await rotate(fixture.context, cannotMint);
  expect(await answers()).toEqual([expect.stringMatching(/^only a personal key of an administrator/)]);
});

test('a rotation begins together with the answer to its request: a pass that is cut off in between begins none, and the next pass begins it', async () => {
  const rule = { name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } };
  await prepare(['bot'], { policy: policySchema.parse({ rules: [rule] }) });
  const [key] = await store.sql`select number from keywarden.key where name = 'bot'`;
  const report = (await store.as('keywarden_report')).sql;
  const principal = await makePrincipal(store, 'grace');
  await requestRotation(report, { key: String(key?.number), principal, reason: 'it leaked' });
  await store.sql.unsafe(`
    create function public.cut_off() returns trigger language plpgsql as
      $$ begin raise exception 'the server stops' using errcode = '57P01'; end $$;
    create trigger cut_off before insert on keywarden.rotation_request_answer for each row execute function public.cut_off()`);
  await expect(pass()).rejects.toMatchObject({ cause: { code: '57P01' } });
  expect(await states()).toEqual([]);
  await store.sql`drop function public.cut_off cascade`;
  await pass();
  expect(await states()).toEqual(['bot: delivered']);
  const answers = await store.sql`
    select why_not, rotation_number = (select number from keywarden.rotation) as is_its from keywarden.rotation_request_answer`;
  expect([...answers]).toEqual([{ why_not: null, is_its: true }]);
});

test('a request whose token was revoked before its answer begins no rotation; one by another token does', async () => {
  const rule = { name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } };
  await prepare(['bot', 'deploy'], { policy: policySchema.parse({ rules: [rule] }) });
  const report = (await store.as('keywarden_report')).sql;
  const thief = await makePrincipal(store, 'mallory');
  for (const [name, principal] of [
    ['bot', thief],
    ['deploy', await makePrincipal(store, 'grace')],
  ] as const) {
    const [key] = await store.sql`select number from keywarden.key where name = ${name}`;
    await requestRotation(report, { key: String(key?.number), principal, reason: 'it leaked' });
  }
  await store.sql`update keywarden.report_token set revoked_at = now() where number = ${thief.token}`;
  await pass();
  expect(await states()).toEqual(['deploy: delivered']);
  const answers = await store.sql`select why_not from keywarden.rotation_request_answer order by request_number`;
  expect(answers.map((answer) => answer.why_not)).toEqual(['the token of the request was revoked', null]);
});

test('a request whose token is revoked during the pass begins no rotation', async () => {
  const rule = { name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } };
  await prepare(['bot', 'deploy'], { policy: policySchema.parse({ rules: [rule] }) });
  const report = (await store.as('keywarden_report')).sql;
  for (const [name, by] of [
    ['deploy', 'grace'],
    ['bot', 'mallory'],
  ]) {
    const [key] = await store.sql`select number from keywarden.key where name = ${String(name)}`;
    const principal = await makePrincipal(store, String(by));
    await requestRotation(report, { key: String(key?.number), principal, reason: 'it leaked' });
  }
  // The pass has read both requests when it opens the rotation of the first.
  await store.sql.unsafe(`
    create function public.revoke_token() returns trigger language plpgsql security definer as
      $$ begin update keywarden.report_token set revoked_at = now() where name = 'mallory' and revoked_at is null; return new; end $$;
    create trigger revoke_token after insert on keywarden.rotation for each row execute function public.revoke_token()`);
  await pass();
  expect(await states()).toEqual(['deploy: delivered']);
  const answers = await store.sql`select why_not from keywarden.rotation_request_answer order by request_number`;
  expect(answers.map((answer) => answer.why_not)).toEqual([null, 'the token of the request was revoked']);
});

test('R6: a rule on access reviews begins no rotation once the token of the signer is revoked, until another review is signed', async () => {
  const enforcement = { organizations: { '*': { mode: 'enforce' } } };
  const rule = { name: 'out', reviewed_out: true, action: 'rotate', mode: 'enforce', rotation: { sink: 'files' } };
  await prepare(['bot'], { policy: policySchema.parse({ enforcement, rules: [rule] }) });
  const report = await store.as('keywarden_report');
  const sign = async (by: string) => {
    const principal = await makePrincipal(store, by);
    const asked = { title: 'x', filter: { kind: 'organization' as const }, request: {}, holes: [], keepForDays: 1 };
    const review = String(await openReview(report, { ...asked, asOf: new Date().toISOString(), principal }));
    const rows = await store.sql`select key_number from keywarden.review_item where review_number = ${review}`;
    const keys = rows.map((row) => String(row.key_number));
    await decideReview(report.sql, { review, keys, decision: 'revoke', reason: 'unused', principal });
    expect(await signReview(report.sql, { review, principal })).toMatchObject({ isSigned: true, revocations: 1 });
    return principal;
  };
  const thief = await sign('mallory');
  await store.sql`update keywarden.report_token set revoked_at = now() where number = ${thief.token}`;
  await pass();
  expect(await states()).toEqual([]);
  await sign('grace');
  await pass();
  expect(await states()).toEqual(['bot: delivered']);
});
