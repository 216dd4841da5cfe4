import { columnsOf, present } from '../http/json.ts';
import type { Columns, Database, Row } from '../store/database.ts';
import { formatIfSet, type Micros } from '../store/time.ts';
import { hostOf } from './projects.ts';

export interface NewEndpoint extends Columns {
  id: string;
  project_id: string;
  branch_id: string;
  type: 'read_write' | 'read_only';
  created_at: Micros;
  state?: 'idle';
  min_cu?: number | undefined;
  max_cu?: number | undefined;
}

export function insertEndpoint(db: Database, endpoint: NewEndpoint): void {
  const { min_cu: min = 0.25, max_cu: max = Math.max(2, min), created_at: at } = endpoint;
  const isIdle = endpoint.state === 'idle';
  const started = isIdle ? { suspended_at: at } : { state: 'init', pending_state: 'active' };
  db.insert('endpoint', {
    suspend_timeout_seconds: 0,
    updated_at: at,
    ...started,
    ...endpoint,
    min_cu: min,
    max_cu: max,
  });
}

/** Selects existing endpoints: neither deleted nor on a deleted branch. Includes the project's region, for `renderEndpoint`. */
const liveEndpoint = `select e.*, p.region_id from endpoint e join branch b on b.id = e.branch_id join project p on p.id = e.project_id
  where e.deleted_at is null and b.deleted_at is null`;

export function findEndpoint(db: Database, projectId: string, endpointId: string): Row | undefined {
  return db.get(`${liveEndpoint} and e.project_id = ? and e.id = ?`, projectId, endpointId);
}

export function listEndpoints(db: Database, where: { projectId: string; branchId?: string }): Row[] {
  const order = 'order by e.created_at, e.id';
  return where.branchId === undefined
    ? db.all(`${liveEndpoint} and e.project_id = ? ${order}`, where.projectId)
    : db.all(`${liveEndpoint} and e.project_id = ? and e.branch_id = ? ${order}`, where.projectId, where.branchId);
}

export function findReadWrite(db: Database, branchId: string): Row | undefined {
  return db.get(`${liveEndpoint} and e.branch_id = ? and e.type = 'read_write'`, branchId);
}

/** Returns a compute's host; `isPooled` selects its connection pooler. */
export function endpointHost(row: Row, isPooled = false): string {
  return `${String(row.id)}${isPooled ? '-pooler' : ''}.${hostOf(String(row.region_id))}`;
}

export function renderEndpoint(row: Row): Record<string, unknown> {
  return {
    ...columnsOf(row, 'id', 'project_id', 'branch_id', 'region_id', 'type', 'suspend_timeout_seconds'),
    ...columnsOf(row, 'created_at', 'updated_at'),
    host: endpointHost(row),
    proxy_host: hostOf(String(row.region_id)),
    autoscaling_limit_min_cu: row.min_cu,
    autoscaling_limit_max_cu: row.max_cu,
    current_state: row.state,
    settings: JSON.parse(String(row.settings)),
    pooler_enabled: row.pooler_enabled === 1,
    pooler_mode: 'transaction',
    disabled: row.disabled === 1,
    passwordless_access: row.passwordless_access === 1,
    creation_source: 'console',
    provisioner: 'k8s-neonvm',
    ...present({
      ...columnsOf(row, 'name', 'pending_state', 'started_at', 'suspended_at'),
      last_active: formatIfSet(row.last_active_at),
    }),
  };
}
