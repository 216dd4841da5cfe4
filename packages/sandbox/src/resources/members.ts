import type { Row } from '../store/database.ts';
import { formatInstant } from '../store/time.ts';

export function renderOrganization(row: Row): Record<string, unknown> {
  const createdAt = formatInstant(Number(row.created_at));
  return {
    id: row.id,
    name: row.name,
    handle: row.id,
    plan: row.plan,
    managed_by: 'console',
    created_at: createdAt,
    updated_at: createdAt,
  };
}

export function renderMember(row: Row): Record<string, unknown> {
  return {
    id: row.id,
    user_id: row.user_id,
    org_id: row.organization_id,
    role: row.role,
    joined_at: formatInstant(Number(row.joined_at)),
  };
}

export function renderInvitation(row: Row): Record<string, unknown> {
  return {
    id: row.id,
    email: row.email,
    org_id: row.organization_id,
    invited_by: row.invited_by,
    invited_at: formatInstant(Number(row.invited_at)),
    role: row.role,
  };
}
