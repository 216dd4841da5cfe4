import { createHmac } from 'node:crypto';
import { withMigrationLock } from '../migrate.ts';
import { type Sql, type StoreRole, storeRoles } from '../sql.ts';

/**
 * Returns the URL of the ordinary login that acts as a role in the embedded Postgres. The superuser's URL is for set-up only: a
 * statement that someone slips into a session of a superuser could undo the role with SET ROLE NONE.
 */
export function embeddedLogin(superuserUrl: string, role: StoreRole): string {
  const url = new URL(superuserUrl);
  const password = createHmac('sha256', url.password).update(role).digest('base64url');
  return Object.assign(url, { username: loginOf(role), password }).href;
}

const loginOf = (role: StoreRole) => `${role}_login`;

/** Creates the logins that are missing: one for each role, which can do nothing before it acts as that role. */
export async function createEmbeddedLogins(sql: Sql, superuserUrl: string): Promise<void> {
  if ((await listMissing(sql)).length === 0) return;
  await withMigrationLock(sql, async () => {
    for (const role of await listMissing(sql)) {
      const { username, password } = new URL(embeddedLogin(superuserUrl, role));
      // The password has only the characters of base64url.
      await sql.unsafe(`create role ${username} login noinherit password '${password}' in role ${role}`);
    }
  });
}

async function listMissing(sql: Sql): Promise<StoreRole[]> {
  const rows = await sql`select rolname from pg_roles where rolname = any(${storeRoles.map(loginOf)})`;
  const names = rows.map((row) => String(row.rolname));
  return storeRoles.filter((role) => !names.includes(loginOf(role)));
}
