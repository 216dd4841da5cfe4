import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireAdministrator, requireOrganization, requirePersonal, requireProject } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { int64, present, readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import { insertKey, keyColumns, type NewKey, renderKey } from '../resources/keys.ts';
import type { Env, State } from '../state.ts';
import { formatInstant } from '../store/time.ts';

const keyName = z.string().min(1, 'key_name must not be empty').max(64, 'key_name is longer than 64 characters');
const personalBody = z.object({ key_name: keyName });
const organizationBody = z.object({ key_name: keyName, project_id: z.string().optional() });

export function apiKeyRoutes(api: Hono<Env>, { db, clock, newToken }: State): void {
  const mint = (key: Omit<NewKey, 'created_at'>) => {
    const token = newToken();
    const at = clock.now();
    const id = int64(insertKey(db, { ...key, created_at: at }, token));
    const shown = { id, key: token, name: key.name, created_at: formatInstant(at), created_by: key.user_id };
    return { ...shown, ...present({ project_id: key.project_id }) };
  };

  api.get('/api_keys', (c) => {
    const { userId } = requirePersonal(c);
    return c.json(listKeys(c, keysOfUser(userId)));
  });

  api.post('/api_keys', async (c) => {
    const { userId } = requirePersonal(c);
    const { key_name: name } = await readBody(c, personalBody);
    return c.json(mint({ kind: 'personal', name, user_id: userId }));
  });

  api.delete('/api_keys/:key_id', (c) => {
    const { userId } = requirePersonal(c);
    return c.json(revoke(c, keysOfUser(userId)));
  });

  api.get('/organizations/:org_id/api_keys', (c) => {
    const organizationId = requireAdministrator(c, 'manage organization API keys');
    return c.json(listKeys(c, keysOfOrganization(organizationId)));
  });

  api.post('/organizations/:org_id/api_keys', async (c) => {
    const organizationId = readPath(c, 'org_id');
    const { userId } = requirePersonal(c);
    const { key_name: name, project_id: projectId } = await readBody(c, organizationBody);
    if (projectId === undefined) {
      requireAdministrator(c, 'manage organization API keys');
      return c.json(mint({ kind: 'organization', name, user_id: userId, organization_id: organizationId }));
    }
    requireOrganization(c);
    if (c.get('state').settings.project_keys === 'administrators')
      requireAdministrator(c, 'create project-scoped API keys');
    const project = requireProject(c, projectId);
    if (project.organization_id !== organizationId) throw new Refusal(404, 'project not found');
    return c.json(
      mint({ kind: 'project', name, user_id: userId, organization_id: organizationId, project_id: projectId }),
    );
  });

  api.delete('/organizations/:org_id/api_keys/:key_id', (c) => {
    const organizationId = requireAdministrator(c, 'manage organization API keys');
    return c.json(revoke(c, keysOfOrganization(organizationId)));
  });
}

/** The keys that a route is about: those of a person or of an organization. */
interface Keys {
  condition: string;
  owner: string;
}

const keysOfUser = (owner: string): Keys => ({ condition: "k.kind = 'personal' and k.user_id = :owner", owner });
const keysOfOrganization = (owner: string): Keys => ({
  condition: "k.kind <> 'personal' and k.organization_id = :owner",
  owner,
});

function listKeys(c: Context<Env>, { condition, owner }: Keys): unknown[] {
  const { db, clock } = c.get('state');
  const seen = clock.now() - (c.get('lateLastUsedBy') ?? 0);
  const rows = db.all(
    `select ${keyColumns}, u.name as creator from api_key k join user u on u.id = k.user_id
     where k.revoked_at is null and ${condition} order by k.created_at desc, k.id desc`,
    { seen, owner },
  );
  return rows.map((row) => ({ ...renderKey(row), created_by: { id: row.user_id, name: row.creator, image: '' } }));
}

function revoke(c: Context<Env>, { condition, owner }: Keys): unknown {
  const { db, clock } = c.get('state');
  const keyId = readPath(c, 'key_id');
  if (!/^\d{1,19}$/.test(keyId) || BigInt(keyId) >= 2n ** 63n) throw new Refusal(400, 'key_id must be an int64');
  const now = clock.now();
  const live = `select ${keyColumns} from api_key k where k.id = :id and k.revoked_at is null and ${condition}`;
  const row = found(db.get(live, { seen: now, owner, id: BigInt(keyId) }), 'API key not found');
  db.update('api_key', { id: BigInt(keyId), revoked_at: now, last_used_at: row.last_used_at ?? null });
  return { ...renderKey(row), created_by: row.user_id, revoked: true };
}
