import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, getCACertificates, setDefaultCACertificates } from 'node:tls';
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
  await present(makeCertificate('127.0.0.1'));
});
afterAll(async () => {
  await owner.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

/** Makes the server present a certificate. Returns once new sessions get it. */
async function present(files: { certificate: string; key: string }): Promise<void> {
  // The server writes the files, because it accepts a key only from its own user.
  for (const [name, text] of Object.entries(files))
    await owner.sql.unsafe(
      `copy (select unnest(string_to_array('${text}', e'\\n'))) to program 'umask 077; cat > ${name}.pem'`,
    );
  for (const setting of ["ssl_cert_file = 'certificate.pem'", "ssl_key_file = 'key.pem'", 'ssl = on'])
    await owner.sql.unsafe(`alter system set ${setting}`);
  await owner.sql`select pg_reload_conf()`;
  const { hostname, port } = new URL(url);
  const expected = new X509Certificate(files.certificate).fingerprint256;
  await until(async () => (await readFingerprint(Number(port), hostname)) === expected);
}

/** Returns the fingerprint of the certificate that a Postgres presents; undefined while it serves no TLS. Source: its protocol, SSLRequest. */
async function readFingerprint(port: number, host: string): Promise<string | undefined> {
  const socket = connect(port, host);
  socket.write(Buffer.from('0000000804d2162f', 'hex'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  if (answer.toString() !== 'S') return void socket.destroy();
  const secure = connectTls({ socket, rejectUnauthorized: false });
  await once(secure, 'secureConnect');
  const { fingerprint256 } = secure.getPeerCertificate();
  secure.destroy();
  return fingerprint256;
}

test.each([
  ['?sslmode=require', true],
  ['', false],
])('the login of an app learns whether its session with %j is encrypted', async (query, expected) => {
  const options = { dataFolder, applicationName: 'test', role: 'keywarden_daemon' } as const;
  const daemon = await openStore({ ...options, databaseUrl: `${url}${query}` });
  try {
    expect(await isEncrypted(daemon.sql)).toBe(expected);
    expect(await daemon.sql`select current_user as name`).toEqual([{ name: 'keywarden_daemon' }]);
  } finally {
    await daemon.close();
  }
});

/** Opens the store with a verified certificate that this process trusts. Returns the error, or "opened". */
async function openVerified(files: { certificate: string; key: string }): Promise<unknown> {
  await present(files);
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, files.certificate]);
  try {
    const databaseUrl = `${url}?sslmode=verify-full`;
    const opened = await openStore({ databaseUrl, dataFolder, applicationName: 'test', role: 'keywarden_daemon' });
    await opened.close();
    return 'opened';
  } catch (error) {
    return error;
  } finally {
    setDefaultCACertificates(trusted);
  }
}

test('sslmode=verify-full compares the address in DATABASE_URL with the certificate', async () => {
  expect(await openVerified(makeCertificate('127.0.0.1'))).toBe('opened');
  expect(await openVerified(makeCertificate('localhost'))).toMatchObject({
    message: expect.stringMatching(/has a certificate of another host; use an address that is in its certificate\.$/),
    canRetry: false,
  });
});

test('a certificate that has expired or is not valid yet is named, and the database is not said to be unreachable', async () => {
  const expired = makeCertificate('127.0.0.1', ['20200101000000Z', '20210101000000Z']);
  expect(await openVerified(expired)).toMatchObject({
    message: expect.stringMatching(/has a certificate that has expired; renew it\.$/),
    canRetry: false,
  });
  const early = makeCertificate('127.0.0.1', ['20900101000000Z', '21000101000000Z']);
  expect(await openVerified(early)).toMatchObject({
    message: expect.stringMatching(/has a certificate that is not valid yet; correct the clock of this machine, or/),
    canRetry: false,
  });
});

test.each(['require', 'verify-full'])('sslmode=%s names a database that has no TLS', async (mode) => {
  await owner.sql.unsafe('alter system set ssl = off');
  await owner.sql`select pg_reload_conf()`;
  const { hostname, port } = new URL(url);
  await until(async () => (await readFingerprint(Number(port), hostname)) === undefined);
  await expect(
    openStore({ databaseUrl: `${url}?sslmode=${mode}`, dataFolder, applicationName: 'test', role: 'keywarden_daemon' }),
  ).rejects.toThrow(/ended the connection where TLS begins; turn on ssl there, or change sslmode in DATABASE_URL\.$/);
});
