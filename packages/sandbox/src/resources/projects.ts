import { firstWorkAt } from '../engine/system.ts';
import { Refusal } from '../http/errors.ts';
import { columnsOf, present } from '../http/json.ts';
import type { Columns, Database, Row } from '../store/database.ts';
import { DAY, formatIfSet, formatInstant, type Micros } from '../store/time.ts';
import { endKeyUse } from './keys.ts';

/** The region of a project that is created without one. */
export const defaultRegion = 'aws-us-east-2';

/** The regions in which projects can be. Coordinates are in degrees. */
export const regions = [
  ['aws-us-east-1', 'AWS US East 1 (N. Virginia)', '38.13', '-78.45'],
  ['aws-us-east-2', 'AWS US East 2 (Ohio)', '39.96', '-83'],
  ['aws-eu-central-1', 'AWS Europe Central 1 (Frankfurt)', '50.11', '8.68'],
  ['aws-ap-southeast-1', 'AWS Asia Pacific 1 (Singapore)', '1.37', '103.8'],
  ['azure-westus3', 'Azure West US 3 (Arizona)', '33.45', '-112.07'],
].map(([region_id = '', name, geo_lat, geo_long]) => ({
  region_id,
  name,
  default: region_id === defaultRegion,
  geo_lat,
  geo_long,
}));

/** How long a deleted object can be recovered. */
const recoveryWindow = 7 * DAY;

interface NewProject extends Columns {
  id: string;
  organization_id: string;
  owner_id: string;
  name: string;
  region_id: string;
  pg_version: number;
  cpu_used_sec: number;
  created_at: Micros;
  updated_at: Micros;
}

/** Stores a project. The control plane's own work on it begins a day after `knownFrom`, when the project came to the sandbox. */
export function insertProject(db: Database, project: NewProject, knownFrom: Micros): void {
  db.insert('project', { ...project, last_active_at: knownFrom, next_work_at: firstWorkAt(project.id, knownFrom) });
}

/** Deletes a project as the control plane does: its computes end at once. Its data is deleted in a week unless the project is recovered. */
export function deleteProject(db: Database, projectId: string, at: Micros): void {
  db.run(
    "update endpoint set state = 'idle', pending_state = null, suspend_at = null, suspended_at = ? where project_id = ? and state = 'active'",
    at,
    projectId,
  );
  endKeyUse(db, projectId, at);
  db.run('delete from transfer_request where project_id = ?', projectId);
  const purgeAt = at + recoveryWindow;
  db.update('project', { id: projectId, deleted_at: at, purge_at: purgeAt, next_work_at: null, updated_at: at });
}

export function recoverProject(db: Database, projectId: string, at: Micros): void {
  const workAt = firstWorkAt(projectId, at);
  db.update('project', { id: projectId, deleted_at: null, purge_at: null, next_work_at: workAt, updated_at: at });
}

/** Transfers a project to another organization. The keys scoped to it end, because they belonged to the old organization. */
export function moveProject(db: Database, { projectId, to, at }: { projectId: string; to: string; at: Micros }): void {
  endKeyUse(db, projectId, at);
  db.run('update api_key set revoked_at = ? where project_id = ? and revoked_at is null', at, projectId);
  db.run('delete from transfer_request where project_id = ?', projectId);
  db.run('update project set organization_id = ?, updated_at = ? where id = ?', to, at, projectId);
}

const projectsLimit = 1000;

/** Throws 422 once an organization has all the projects that its plan allows. */
export function requireRoomForProject(db: Database, organizationId: string): void {
  const row = db.get(
    'select count(*) as n from project where organization_id = ? and deleted_at is null',
    organizationId,
  );
  if (Number(row?.n) >= projectsLimit)
    throw new Refusal(422, `projects limit exceeded; limit: ${projectsLimit}`, 'PROJECTS_LIMIT_EXCEEDED');
}

/** Returns the domain of a region's computes. */
export function hostOf(regionId: string): string {
  return `${regionId.replace(/^\w+-/, '')}.db.example`;
}

/** The settings of a project that specifies none. */
const defaultSettings = {
  allowed_ips: { ips: [], protected_branches_only: false },
  enable_logical_replication: false,
  maintenance_window: { weekdays: [5], start_time: '05:00', end_time: '06:00' },
  block_public_connections: false,
  block_vpc_connections: false,
  hipaa: false,
};

/** Returns a project as lists show it. */
export function renderListedProject(row: Row): Record<string, unknown> {
  const regionId = String(row.region_id);
  return {
    ...columnsOf(row, 'id', 'name', 'owner_id', 'region_id', 'pg_version', 'cpu_used_sec', 'history_retention_seconds'),
    ...columnsOf(row, 'created_at', 'updated_at'),
    org_id: row.organization_id,
    platform_id: regionId.split('-')[0],
    provisioner: 'k8s-neonvm',
    proxy_host: hostOf(regionId),
    locked: false,
    store_passwords: row.store_passwords === 1,
    settings: { ...defaultSettings, ...JSON.parse(String(row.settings)) },
    default_endpoint_settings: JSON.parse(String(row.default_endpoint_settings)),
    active_time: row.cpu_used_sec,
    branch_logical_size_limit: 8192,
    branch_logical_size_limit_bytes: 8_589_934_592,
    creation_source: 'console',
    ...present({
      ...columnsOf(row, 'deleted_at'),
      compute_last_active_at: formatIfSet(row.last_active_at),
      recoverable_until: formatIfSet(row.purge_at),
    }),
  };
}

/** Returns a project as its own route shows it, with its consumption. */
export function renderProject(row: Row): Record<string, unknown> {
  const {
    active_time: activeTime,
    deleted_at: _deleted,
    recoverable_until: _until,
    ...listed
  } = renderListedProject(row);
  return {
    ...listed,
    consumption_period_start: formatInstant(Number(row.created_at)),
    consumption_period_end: formatInstant(Number(row.updated_at)),
    active_time_seconds: activeTime,
    compute_time_seconds: activeTime,
    written_data_bytes: 0,
    data_transfer_bytes: 0,
    data_storage_bytes_hour: 0,
  };
}
