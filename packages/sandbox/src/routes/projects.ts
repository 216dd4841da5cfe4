import { isIP } from 'node:net';
import type { Hono } from 'hono';
import { z } from 'zod';
import { requireOwnProject, requireProject } from '../access/rules.ts';
import { configureTasks } from '../engine/tasks.ts';
import { Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import { renderBranch } from '../resources/branches.ts';
import { listEndpoints } from '../resources/endpoints.ts';
import { deleteProject, recoverProject, renderProject, requireRoomForProject } from '../resources/projects.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { create, mutate, requireProjectId } from './mutate.ts';

const quota = z.int().min(0);
const suspendTimeout = z.int().min(-1).max(604_800);

/** The settings that the sandbox stores, and the parts that it validates. */
export const settingsSchema = z.looseObject({
  allowed_ips: z.looseObject({ ips: z.array(z.string().refine(isAddress, 'no address')).optional() }).optional(),
  quota: z
    .looseObject({
      active_time_seconds: quota.optional(),
      compute_time_seconds: quota.optional(),
      written_data_bytes: quota.optional(),
      data_transfer_bytes: quota.optional(),
      logical_size_bytes: quota.optional(),
    })
    .optional(),
  suspend_timeout_seconds: suspendTimeout.optional(),
});

/** Returns whether the text is an address, an address block, or a range. */
function isAddress(text: string): boolean {
  const [from = '', to = from] = text.split('-');
  const [address = '', bits] = from.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  const isBlock = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  return isIP(address) !== 0 && isBlock && (to === from || isIP(to) === isIP(address));
}

export const retentionSchema = z.int().min(0).max(2_592_000);

const updateBody = z.object({
  project: z.object({
    name: z.string().min(1).max(256).optional(),
    settings: settingsSchema.optional(),
    default_endpoint_settings: settingsSchema.optional(),
    history_retention_seconds: retentionSchema.optional(),
  }),
});

/** Adds the routes of one project: read, change, delete, recover. */
export function projectRoutes(api: Hono<Env>, state: State): void {
  const { db } = state;

  api.get('/projects/:project_id', (c) => {
    const row = requireProject(db, c.get('principal'), readPath(c, 'project_id'));
    return c.json({ project: renderProject(row) });
  });

  api.patch('/projects/:project_id', async (c) => {
    const id = requireProjectId(c, state);
    const { project: wanted } = await readBody(c, updateBody);
    return mutate(c, state, ({ at, order }) => {
      const row = db.require('project', { id });
      db.update('project', {
        id,
        name: wanted.name,
        settings: merge(row.settings, wanted.settings),
        default_endpoint_settings: merge(row.default_endpoint_settings, wanted.default_endpoint_settings),
        history_retention_seconds: wanted.history_retention_seconds,
        updated_at: at,
      });
      const isStored = wanted.history_retention_seconds !== undefined;
      // A running compute applies new settings at once; an idle one applies them when it starts.
      const active = listEndpoints(db, { projectId: id }).filter((endpoint) => endpoint.state === 'active');
      const operations = order([
        ...(isStored ? [{ action: 'apply_storage_config' }] : []),
        ...(wanted.settings === undefined ? [] : active.flatMap((endpoint) => configureTasks(db, endpoint))),
      ]);
      return c.json({ project: renderProject(db.require('project', { id })), operations });
    });
  });

  api.delete('/projects/:project_id', (c) => {
    const id = readPath(c, 'project_id');
    const row = requireOwnProject(db, c.get('principal'), { projectId: id, to: 'delete projects' });
    const kept = 'select id from branch where project_id = ? and protected = 1 and deleted_at is null limit 1';
    const branch = db.get(kept, id);
    if (branch !== undefined)
      throw new Refusal(422, `cannot delete a project that has a protected branch; branch_id:"${branch.id}"`);
    db.transaction(() => deleteProject(db, id, state.clock.now()));
    return c.json({ project: renderProject(row) });
  });

  api.post('/projects/:project_id/recover', (c) => {
    const id = readPath(c, 'project_id');
    const row = requireOwnProject(db, c.get('principal'), { projectId: id, to: 'recover projects', deleted: true });
    requireRoomForProject(db, String(row.organization_id));
    return create(c, state, id, ({ at, order }) => {
      recoverProject(db, id, at);
      order([{ action: 'tenant_attach' }]);
      const branches = db.all(
        'select * from branch where project_id = ? and deleted_at is null order by created_at, id',
        id,
      );
      return c.json({ project: renderProject(db.require('project', { id })), branches: branches.map(renderBranch) });
    });
  });
}

function merge(stored: Row[string] | undefined, wanted: object | undefined): object {
  return { ...JSON.parse(String(stored)), ...wanted };
}
