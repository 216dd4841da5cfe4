import type { Database, Row } from '../store/database.ts';
import { listDatabases, listRoles } from './catalog.ts';
import { endpointHost, findReadWrite } from './endpoints.ts';

/** Returns a URI that Postgres clients accept, without the password where none are stored. No server listens there: the sandbox has no data plane. */
export function connectionUri(
  role: Row,
  database: string,
  { host, withPassword = true }: { host: string; withPassword?: boolean },
): string {
  const [user, password, name] = [String(role.name), String(role.password), database].map(encodeURIComponent);
  const credentials = withPassword ? `${user}:${password}` : user;
  return `postgresql://${credentials}@${host}/${name}?sslmode=require`;
}

/** Returns one entry for each database of a branch that has a compute, with its owner's role. */
export function connectionDetails(db: Database, branchId: string): Record<string, unknown>[] {
  const endpoint = findReadWrite(db, branchId);
  if (endpoint === undefined) return [];
  const roles = new Map(listRoles(db, branchId).map((role) => [role.name, role]));
  return listDatabases(db, branchId).flatMap((database) => {
    const role = roles.get(database.owner_name ?? '');
    if (role === undefined) return [];
    const host = endpointHost(endpoint);
    return {
      connection_uri: connectionUri(role, String(database.name), { host }),
      connection_parameters: {
        database: database.name,
        password: role.password,
        role: role.name,
        host,
        pooler_host: endpointHost(endpoint, true),
      },
    };
  });
}
