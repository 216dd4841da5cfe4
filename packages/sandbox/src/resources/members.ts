import { columnsOf } from '../http/json.ts';
import type { Row } from '../store/database.ts';
import { formatIfSet } from '../store/time.ts';

export const renderOrganization = (row: Row) => ({
  ...columnsOf(row, 'id', 'name', 'plan', 'created_at'),
  handle: row.id,
  managed_by: 'console',
  updated_at: formatIfSet(row.created_at),
});

export const renderMember = (row: Row) => ({
  ...columnsOf(row, 'id', 'user_id', 'role', 'joined_at'),
  org_id: row.organization_id,
});

export const renderInvitation = (row: Row) => ({
  ...columnsOf(row, 'id', 'email', 'invited_by', 'invited_at', 'role'),
  org_id: row.organization_id,
});
