import { createToken, type Role } from '@keywarden/db/daemon';
import { authenticate, type Principal } from '@keywarden/db/report';
import type { TestStore } from './test-store.ts';

/** Creates a token in the command line's role, and returns its number and secret. */
export async function makeToken(
  store: TestStore,
  name: string,
  role: Role,
  organizationIds: string[] | null = null,
): Promise<{ number: string; secret: string }> {
  return await createToken((await store.as('keywarden_admin')).db, { name, role, organizationIds, createdBy: 'ada' });
}

/** Creates a token, and returns its holder as the report knows them. */
export async function makePrincipal(
  store: TestStore,
  name: string,
  role: Role = 'operator',
  organizationIds: string[] | null = null,
): Promise<Principal> {
  const { secret } = await makeToken(store, name, role, organizationIds);
  const principal = await authenticate((await store.as('keywarden_report')).sql, secret);
  if (principal === undefined) throw new Error('the new token is not valid');
  return principal;
}
