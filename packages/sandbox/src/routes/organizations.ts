import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireAdministrator, requireOrganization } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { columnsOf, readBody } from '../http/json.ts';
import { readRows } from '../http/page.ts';
import { readPath } from '../http/query.ts';
import { regions } from '../resources/projects.ts';
import type { Env, State } from '../state.ts';
import type { Database, Row } from '../store/database.ts';
import { formatIfSet } from '../store/time.ts';

export function organizationRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/organizations/:org_id', (c) => {
    const id = requireOrganization(c);
    return c.json(renderOrganization(found(db.find('organization', { id }), 'organization not found')));
  });

  api.get('/regions', (c) => {
    const organization = c.req.query('org_id');
    if (organization !== undefined) requireOrganization(c, organization);
    return c.json({ regions });
  });
}

/** The roles of the document, `admin` and `member`, and those that the service's own pages name. Only `admin` may do more than a member. */
const roles = ['admin', 'member', 'editor', 'viewer', 'collaborator'] as const;
const role = z.enum(roles, `the role is not available in this organization: ${roles.join(', ')} are`);
const updateBody = z.object({ role });
const inviteBody = z.object({ invitations: z.array(z.object({ email: z.email(), role })).min(1) });

export function memberRoutes(api: Hono<Env>, { db, clock }: State): void {
  api.get('/organizations/:org_id/members', (c) => {
    const organization = requireOrganization(c);
    const { rows, ...page } = readRows(c, db, {
      sql: `select m.*, u.email from member m join user u on u.id = m.user_id
       where m.organization_id = :organization and m.left_at is null`,
      values: { organization },
      columns: { joined_at: 'm.joined_at', email: 'u.email', role: 'm.role' },
      id: 'm.id',
      limits: { max: 500, fallback: 100 },
    });
    const members = rows.map((row) => ({ member: renderMember(row), user: { email: row.email } }));
    return c.json({ members, ...page });
  });

  api.get('/organizations/:org_id/members/:member_id', (c) => {
    requireOrganization(c);
    return c.json(renderMember(requireMember(c)));
  });

  api.patch('/organizations/:org_id/members/:member_id', async (c) => {
    requireAdministrator(c, 'change the roles of members');
    const wanted = await readBody(c, updateBody);
    const row = requireMember(c);
    if (wanted.role !== 'admin') requireAnotherAdmin(db, row);
    db.update('member', { id: String(row.id), role: wanted.role });
    return c.json(renderMember({ ...row, role: wanted.role }));
  });

  /** A person's own keys lose their access to the organization with the membership, because each request looks it up. */
  api.delete('/organizations/:org_id/members/:member_id', (c) => {
    requireAdministrator(c, 'remove members');
    const row = requireMember(c);
    requireAnotherAdmin(db, row);
    db.update('member', { id: String(row.id), left_at: clock.now() });
    return c.json({});
  });

  api.get('/organizations/:org_id/invitations', (c) => {
    const organization = requireOrganization(c);
    const rows = db.all('select * from invitation where organization_id = ? order by invited_at, id', organization);
    return c.json({ invitations: rows.map(renderInvitation) });
  });

  api.post('/organizations/:org_id/invitations', async (c) => {
    const organization = requireAdministrator(c, 'invite members');
    const by = c.get('principal').userId;
    const { invitations } = await readBody(c, inviteBody);
    const rows = db.transaction(() =>
      invitations.map((wanted) => invite({ db, clock }, { ...wanted, organization, by })),
    );
    return c.json({ invitations: rows.map(renderInvitation) });
  });
}

/** Invites a person. One who has an account joins at once; for others the invitation waits. */
function invite(
  { db, clock }: Pick<State, 'db' | 'clock'>,
  { email, role, organization, by }: { email: string; role: string; organization: string; by: string },
): Row {
  const [id, at] = [randomUUID(), clock.now()];
  db.insert('invitation', { id, organization_id: organization, email, role, invited_by: by, invited_at: at });
  const user = db.get('select id from user where email = ?', email);
  const member = user && db.find('member', { organization_id: organization, user_id: user.id ?? null, left_at: null });
  if (member !== undefined) throw new Refusal(409, `${email} is a member of the organization already`);
  if (user !== undefined)
    db.run(
      `insert into member values (?, ?, ?, ?, ?, null)
       on conflict (organization_id, user_id) do update set role = excluded.role, joined_at = excluded.joined_at, left_at = null`,
      randomUUID(),
      organization,
      String(user.id),
      role,
      at,
    );
  return db.require('invitation', { id });
}

function requireMember(c: Context<Env>): Row {
  const named = { organization_id: readPath(c, 'org_id'), id: readPath(c, 'member_id') };
  return found(c.get('state').db.find('member', { ...named, left_at: null }), 'organization member not found');
}

/** Throws if an organization would lose its last administrator. */
function requireAnotherAdmin(db: Database, member: Row): void {
  const other = db.get(
    "select 1 from member where organization_id = ? and role = 'admin' and left_at is null and id <> ? limit 1",
    String(member.organization_id),
    String(member.id),
  );
  if (member.role === 'admin' && other === undefined)
    throw new Refusal(422, 'the last admin of an organization cannot be removed or given another role');
}

export const renderOrganization = (row: Row) => ({
  ...columnsOf(row, 'id', 'name', 'plan', 'created_at'),
  handle: row.id,
  managed_by: 'console',
  updated_at: formatIfSet(row.created_at),
});

const renderMember = (row: Row) => ({
  ...columnsOf(row, 'id', 'user_id', 'role', 'joined_at'),
  org_id: row.organization_id,
});

const renderInvitation = (row: Row) => ({
  ...columnsOf(row, 'id', 'email', 'invited_by', 'invited_at', 'role'),
  org_id: row.organization_id,
});
