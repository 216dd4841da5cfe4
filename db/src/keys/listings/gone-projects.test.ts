import type { WireCredential } from '@keywarden/core/wire';
import { makeControlPlane, makeWireKey, makeWireProject } from '@keywarden/testkit/store/rows';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { saveProjects } from '../../projects/projects.ts';
import { startRun } from '../../runs/runs.ts';
import { readNow } from '../../store.ts';
import { endCredentialsOfGoneProjects } from './gone-projects.ts';
import { saveKeyListing } from './save.ts';

test('A7: credentials end once, with a project that is gone or has moved and that its former organization has not listed for two days', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const { sql } = await store.as('keywarden_daemon');
  const controlPlane = await makeControlPlane(sql);
  const other = await makeControlPlane(sql, { name: 'other', baseUrl: 'sandbox other' });
  const list = async (project: string, listedAt: string, plane = controlPlane) => {
    const role: WireCredential = {
      ...makeWireKey(`${project}/owner`),
      kind: 'role',
      projectId: project,
      branchId: 'br-1',
      holder: null,
      expiresAt: null,
      revokedAt: null,
    };
    await saveKeyListing(sql, {
      controlPlane: plane,
      scope: `role:old/${project}`,
      organizationId: 'old',
      connection: plane === other ? 'other' : 'main',
      run: null,
      listedAt,
      begunAt: await readNow(sql),
      keys: [role],
    });
  };
  const projects = ['kept', 'gone', 'moved'];
  const place = { controlPlane, seenAt: '2026-06-01T00:00:00Z', unavailableIds: [] };
  await saveProjects(
    sql,
    { ...place, organizationId: 'old' },
    projects.map((id) => makeWireProject(id)),
  );
  for (const project of projects) await list(project, '2026-06-01T00:00:00Z');
  await saveProjects(sql, { ...place, organizationId: 'new' }, [makeWireProject('moved')]);
  // Another control plane has a project of the same id, which is gone there.
  await saveProjects(sql, { ...place, controlPlane: other, organizationId: 'old' }, [makeWireProject('kept')]);
  await store.sql`
    update keywarden.project set gone_at = '2026-06-01 12:00:00Z' where id = 'gone' or control_plane_number = ${other}`;
  const run = await startRun(sql, { kind: 'credentials', connection: 'main' });
  const endedAt = async (seenAt: string) => {
    await list('kept', seenAt);
    await list('moved', seenAt, other);
    await endCredentialsOfGoneProjects(sql, { controlPlane, seenAt, run, lease: undefined });
    const rows = await store.sql`
      select k.id, count(*)::int as times from keywarden.key_observation o join keywarden.credential k on k.number = o.key_number
      where o.event = 'gone' and k.gone_at is not null group by k.id order by k.id`;
    return rows.map(({ id, times }) => `${id} ${times}`);
  };
  expect(await endedAt('2026-06-02T23:00:00Z')).toEqual(['gone/owner 1']);
  expect(await endedAt('2026-06-03T01:00:00Z')).toEqual(['gone/owner 1', 'moved/owner 1']);
  await store.close();
});
