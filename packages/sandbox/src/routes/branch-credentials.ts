import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireBranchId } from '../access/rules.ts';
import { Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import {
  insertCredential,
  renderCredential,
  renderIssued,
  renderSecrets,
  rotateCredential,
} from '../resources/credentials.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';

const credentialScopes = ['storage:read', 'storage:write', 'ai_gateway:invoke', 'functions:invoke'] as const;
const createBody = z.object({
  name: z.string().max(256).optional(),
  scopes: z.array(z.enum(credentialScopes)).min(1).max(16),
  principal_type: z.literal('user'),
});

export function branchCredentialRoutes(api: Hono<Env>, { db, clock }: State): void {
  const list = '/projects/:project_id/branches/:branch_id/credentials';
  /** Returns a credential. A revoked one stays in lists, but every other route rejects it. */
  const requireCredential = (c: Context<Env>, { live = false } = {}): Row => {
    const named = { branch_id: requireBranchId(c), token_id: readPath(c, 'token_id') };
    const row = db.find('credential', named);
    if (row === undefined || (live && row.revoked_at !== null)) throw new Refusal(404, 'credential not found');
    return row;
  };

  api.get(list, (c) => {
    const rows = db.all(
      'select * from credential where branch_id = ? order by created_at, token_id',
      requireBranchId(c),
    );
    return c.json({ credentials: rows.map(renderCredential) });
  });

  api.post(list, async (c) => {
    const branchId = requireBranchId(c);
    const { name, scopes } = await readBody(c, createBody);
    const projectId = readPath(c, 'project_id');
    const made = { project_id: projectId, branch_id: branchId, name: name ?? null, scopes, created_at: clock.now() };
    const { principal_type: _, ...issued } = renderIssued(insertCredential(db, made));
    return c.json(issued, 201);
  });

  api.post(`${list}/:token_id/rotate`, (c) =>
    c.json(renderIssued(rotateCredential(db, String(requireCredential(c, { live: true }).token_id)))),
  );

  api.post(`${list}/:token_id/reveal`, (c) => c.json(renderSecrets(requireCredential(c, { live: true }))));

  api.delete(`${list}/:token_id`, (c) => {
    const { token_id: id = '', revoked_at: revokedAt } = requireCredential(c);
    if (revokedAt === null) db.update('credential', { token_id: id, revoked_at: clock.now() });
    return c.body(null, 204);
  });
}
