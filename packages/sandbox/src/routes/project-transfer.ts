import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { z } from 'zod';
import { requireAdministrator, requireOrganization, requireOwnProject } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { columnsOf, readBody, readOptionalBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import { moveProject, requireRoomForProject } from '../resources/projects.ts';
import type { Env, State } from '../state.ts';
import { SECOND } from '../store/time.ts';
import { organizationOf } from './project-list.ts';

const transferBody = z.object({
  destination_org_id: z.string(),
  project_ids: z.array(z.string()).min(1).max(400),
});
const requestBody = z.object({ ttl_seconds: z.int().positive().max(2_592_000).default(86_400) });
const acceptBody = z.object({ org_id: z.string().optional() });

/** Adds the routes that transfer projects between organizations: at once, or as an offer that another person accepts. */
export function projectTransferRoutes(api: Hono<Env>, { db, clock }: State): void {
  api.post('/organizations/:source_org_id/projects/transfer', async (c) => {
    const source = requireAdministrator(c, 'transfer projects', readPath(c, 'source_org_id'));
    const { destination_org_id: destination, project_ids: projectIds } = await readBody(c, transferBody);
    requireOrganization(c, destination);
    if (destination === source) throw new Refusal(422, 'the projects are in that organization already');
    return db.transaction(() => {
      for (const projectId of projectIds) {
        const project = db.find('project', { id: projectId, organization_id: source, deleted_at: null });
        found(project, `project not found; project_id:"${projectId}"`);
        requireRoomForProject(db, destination);
        moveProject(db, { projectId, to: destination, at: clock.now() });
      }
      return c.json({});
    });
  });

  api.post('/projects/:project_id/transfer_requests', async (c) => {
    const projectId = String(requireOwnProject(c, 'transfer projects').id);
    const { ttl_seconds: seconds } = await readOptionalBody(c, requestBody);
    const at = clock.now();
    const offer = { id: randomUUID(), project_id: projectId, created_at: at, expires_at: at + seconds * SECOND };
    db.insert('transfer_request', offer);
    return c.json(columnsOf(offer, 'id', 'project_id', 'created_at', 'expires_at'), 201);
  });

  api.put('/projects/:project_id/transfer_requests/:request_id', async (c) => {
    const [projectId, id] = [readPath(c, 'project_id'), readPath(c, 'request_id')];
    const { org_id: named } = await readOptionalBody(c, acceptBody);
    const destination = requireOrganization(c, organizationOf(c, named));
    const at = clock.now();
    return db.transaction(() => {
      const open = `select p.organization_id from transfer_request t join project p on p.id = t.project_id
         where t.id = ? and p.id = ? and t.expires_at > ? and p.deleted_at is null`;
      const offer = found(db.get(open, id, projectId, at), 'transfer request not found');
      if (offer.organization_id === destination) throw new Refusal(422, 'the project is in that organization already');
      requireRoomForProject(db, destination);
      moveProject(db, { projectId, to: destination, at });
      return c.body(null, 204);
    });
  });
}
