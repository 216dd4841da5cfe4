import type { Database, Row } from '../store/database.ts';
import { formatInstant, type Micros } from '../store/time.ts';

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
  return db.get('select * from role where branch_id = ? and name = ?', branchId, name);
}

export function listRoles(db: Database, branchId: string): Row[] {
  return db.all('select * from role where branch_id = ? order by created_at, name', branchId);
}

/** Returns a role. Its password is only in responses that may contain it, and only where passwords are stored. */
export function renderRole(row: Row, { withPassword = false } = {}): Record<string, unknown> {
  return {
    branch_id: row.branch_id,
    name: row.name,
    protected: row.protected === 1,
    authentication_method: row.no_login === 1 ? 'no_login' : 'password',
    created_at: formatInstant(Number(row.created_at)),
    updated_at: formatInstant(Number(row.updated_at)),
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
  return db.get('select * from database where branch_id = ? and name = ?', branchId, name);
}

export function listDatabases(db: Database, branchId: string): Row[] {
  return db.all('select * from database where branch_id = ? order by id', branchId);
}

export function renderDatabase(row: Row): Record<string, unknown> {
  return {
    id: row.id,
    branch_id: row.branch_id,
    name: row.name,
    owner_name: row.owner_name,
    created_at: formatInstant(Number(row.created_at)),
    updated_at: formatInstant(Number(row.updated_at)),
  };
}
