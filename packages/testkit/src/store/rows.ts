import type { WireKey, WireOperation, WireProject } from '@keywarden/core/wire';
import { saveConnection } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';

/** Creates a control plane with one connection and returns its number. The default URL is as a sandbox is named: with a space. */
export async function makeControlPlane(
  sql: Sql,
  { name = 'main', baseUrl = 'sandbox 1a2b3c4d' }: { name?: string; baseUrl?: string } = {},
): Promise<string> {
  return await saveConnection(sql, {
    name,
    baseUrl,
    accountId: 'ada',
    authMethod: 'api_key_user',
    ownKeyId: '1',
    isSandbox: false,
    checkedAt: '2026-06-01T00:00:00Z',
    replica: '00000000-0000-4000-8000-000000000001',
  });
}

let projects = 0;

/** Creates a project of the control plane and returns its number. */
export async function makeProject(sql: Sql, controlPlane: string): Promise<string> {
  projects += 1;
  const [row] = await sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at)
    values (${controlPlane}, ${`project-${projects}`}, 'o', 'p', '2026-01-01', now(), now(), now()) returning number`;
  return String(row?.number);
}

export function makeWireProject(id: string, change: Partial<WireProject> = {}): WireProject {
  return {
    id,
    name: id,
    orgId: undefined,
    ownerId: undefined,
    regionId: undefined,
    pgVersion: 17,
    createdAt: '2026-05-01T00:00:00Z',
    updatedAt: '2026-05-01T00:00:00Z',
    deletedAt: undefined,
    extra: null,
    ...change,
  };
}

export function makeWireKey(id: string, change: Partial<WireKey> = {}): WireKey {
  return {
    id,
    name: `key ${id}`,
    createdAt: '2026-01-01T00:00:00Z',
    createdBy: { id: 'ada', name: 'Ada' },
    lastUsedAt: null,
    lastUsedFromAddr: null,
    projectId: null,
    extra: null,
    ...change,
  };
}

export function makeWireOperation(number: number, change: Partial<WireOperation> = {}): WireOperation {
  const at = new Date(Date.UTC(2026, 4, 1) + number * 1000).toISOString().replace('.000Z', 'Z');
  return {
    id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    projectId: 'quiet-river',
    branchId: 'br-1',
    endpointId: undefined,
    action: 'start_compute',
    status: 'finished',
    failuresCount: 0,
    error: undefined,
    retryAt: undefined,
    createdAt: at,
    updatedAt: at,
    totalDurationMs: 12,
    extra: null,
    ...change,
  };
}
