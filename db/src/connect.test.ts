import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@keywarden/testkit';
import { makeCertificate } from '@keywarden/testkit/store/certificate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbedded } from './embedded/embedded.ts';
import { embeddedLogin } from './embedded/logins.ts';
import { isEncrypted, openStore, type Store } from './store.ts';

const dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-connect-'));
let owner: Store;
/** The address of a Postgres that serves TLS, as the daemon's login uses it. */
let url: string;

beforeAll(async () => {
  owner = await openStore({ databaseUrl: undefined, dataFolder, applicationName: 'owner' });
  const embedded = await openEmbedded(dataFolder);
  url = embeddedLogin(embedded.url, 'keywarden_daemon');
  await embedded.close();
  const { certificate, key } = makeCertificate('127.0.0.1');
  // The server writes the files, because it accepts a key only from its own user.
  for (const [name, text] of Object.entries({ certificate, key }))
    await owner.sql.unsafe(
      `copy (select unnest(string_to_array('${text}', e'\\n'))) to program 'umask 077; cat > ${name}.pem'`,
    );
  for (const setting of ["ssl_cert_file = 'certificate.pem'", "ssl_key_file = 'key.pem'", 'ssl = on'])
    await owner.sql.unsafe(`alter system set ${setting}`);
  await owner.sql`select pg_reload_conf()`;
});
afterAll(async () => {
  await owner.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

test.each([
  ['?sslmode=require', true],
  ['', false],
])('the login of an app learns whether its session with %j is encrypted', async (query, expected) => {
  const options = { dataFolder, applicationName: 'test', role: 'keywarden_daemon' } as const;
  // The server may not have read its settings again yet.
  const daemon = await until(() => openStore({ ...options, databaseUrl: `${url}${query}` }), { toleratesErrors: true });
  try {
    expect(await isEncrypted(daemon.sql)).toBe(expected);
    expect(await daemon.sql`select current_user as name`).toEqual([{ name: 'keywarden_daemon' }]);
  } finally {
    await daemon.close();
  }
});
