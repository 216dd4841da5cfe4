import { policySchema } from '@keywarden/core/policy';
import { planKeys } from '@keywarden/daemon';
import { listRejectedRows } from '@keywarden/db/daemon';
import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { syncKeys } from './keys.ts';
import { syncOperations } from './operations.ts';

test('a project that a list only names as unavailable is reported, and no other is called the only one', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const policy = policySchema.parse({ rules: [{ name: 'wide', unscoped: true, action: 'report' }] });
  const fixture = await makeFixture(store, { policy });
  await fixture.controls.generate({ organizations: 1, projects: 2, keys: 0, operations: 0 });
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  const path = `/organizations/${organizations[0]?.id}/api_keys`;
  const { key } = await fixture.ask<{ key: string }>('POST', path, { key_name: 'wide' });
  await fetch(`${fixture.sandbox.url}/auth`, { headers: { authorization: `Bearer ${key}` } });
  const pass = async () => {
    await fixture.controls.advance(3600);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
    const { rejected_rows: rejected = 0 } = await syncOperations(fixture.context, connectionOf(fixture));
    const { facts, judgements } = await planKeys(fixture.context, fixture.connections);
    const findings = judgements.flatMap((each) => each.findings.map(({ rule }) => rule.name));
    return { rejected, findings, projects: facts.scopes.map(({ projects }) => projects?.length ?? null) };
  };
  await fixture.controls.setFaults([{ path: '/projects', kind: 'partial_projects' }]);
  expect(await pass()).toMatchObject({ rejected: 1, findings: [] });
  const projects = await fixture.controls.projects();
  const [known] = await store.sql`select id from keywarden.project`;
  const kept = await listRejectedRows(store.db, { limit: 10 });
  expect(kept.map(({ list, id }) => [list, id])).toEqual([
    ['projects', projects.find(({ id }) => id !== known?.id)?.id],
  ]);

  await fixture.controls.setFaults([]);
  expect((await pass()).projects).toContain(2);
  await fixture.ask('DELETE', `/projects/${projects[0]?.id}`);
  expect((await pass()).findings).toEqual(['wide']);
  await fixture.close();
  await store.close();
});
