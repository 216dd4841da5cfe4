import { columnsOf } from '../http/json.ts';
import type { Database, Row } from '../store/database.ts';
import type { Micros } from '../store/time.ts';

// Databases and roles: the contents of a branch.

interface NewRole {
  branch_id: string;
  name: string;
  password: string;
  no_login?: boolean | undefined;
}

export function insertRole(db: Database, role: NewRole, at: Micros): void {
  db.insert('role', { ...role, created_at: at, updated_at: at });
}

export function findRole(db: Database, branchId: string, name: string): Row | undefined {
  return db.find('role', { branch_id: branchId, name });
}

export function listRoles(db: Database, branchId: string): Row[] {
  return db.all('select * from role where branch_id = ? order by created_at, name', branchId);
}

/** Returns a role. Its password is only in responses that may contain it, and only where passwords are stored. */
export function renderRole(row: Row, { withPassword = false } = {}): Record<string, unknown> {
  return {
    ...columnsOf(row, 'branch_id', 'name', 'created_at', 'updated_at'),
    protected: row.protected === 1,
    authentication_method: row.no_login === 1 ? 'no_login' : 'password',
    ...(withPassword ? { password: row.password } : {}),
  };
}

export function insertDatabase(
  db: Database,
  database: { branch_id: string; name: string; owner_name: string },
  at: Micros,
): void {
  db.insert('database', { ...database, created_at: at, updated_at: at });
}

export function findDatabase(db: Database, branchId: string, name: string): Row | undefined {
  return db.find('database', { branch_id: branchId, name });
}

export function listDatabases(db: Database, branchId: string): Row[] {
  return db.all('select * from database where branch_id = ? order by id', branchId);
}

export const renderDatabase = (row: Row) =>
  columnsOf(row, 'id', 'branch_id', 'name', 'owner_name', 'created_at', 'updated_at');
