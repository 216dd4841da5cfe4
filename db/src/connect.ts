import { isIP, isIPv6 } from 'node:net';
import { certificateFault, codeOf, deniedByDeno, storeError, UserError } from '@keywarden/runtime';
import postgres from 'postgres';
import { isSessionLost, mostIdleMs } from './silence.ts';
import type { PoolOptions, Sql, StoreRole } from './sql.ts';

// Sessions of the database: their settings, and why there is none.

/** Objects that another user made in a schema of the search path must not run in a session of ours. */
const safeSearchPath = 'pg_catalog, pg_temp';

const asText = (text: string) => text;
const jsonTypes = {
  json: { to: 114, from: [114], serialize: asText, parse: JSON.parse },
  jsonb: { to: 3802, from: [3802], serialize: asText, parse: JSON.parse },
};

/** How long a connection may be silent while a statement waits, until the server is asked about its session. */
const silentMs = 60_000;

const sslModeOf = (url: URL) => url.searchParams.get('sslmode') || url.searchParams.get('ssl') || 'disable';

/** The modes in which the driver accepts a server without TLS. */
const unencrypted = ['disable', 'false', 'prefer'];

/** The modes in which the driver accepts any certificate, or none. */
const unverified = [...unencrypted, 'allow', 'require'];

/** The limits of a session that only Keywarden sets. They are texts, because the driver leaves out the number 0. */
const noLimits: Record<string, string> = { statement_timeout: '0', lock_timeout: '0', idle_session_timeout: '0' };

interface Connecting {
  applicationName: string;
  /** Statements that take longer are canceled, in ms. Without it there is no limit. */
  statementTimeoutMs?: number | undefined;
  role?: StoreRole | undefined;
  pool: PoolOptions;
  /** How long a connection may be silent while a statement waits, in ms. */
  silenceMs?: number;
}

/** Returns a pool of sessions whose settings do not depend on those of the database. */
export function connect(
  url: string,
  { applicationName, role, statementTimeoutMs, pool, silenceMs = silentMs }: Connecting,
): Sql {
  const parsed = new URL(url);
  const { hostname, port } = parsed;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  // The driver looks for a host with the brackets of an IPv6 address, and splits a text without them at its colons. Its types do not have the lists that it takes.
  const address: object = isIPv6(host) ? { host: [host], port: [Number(port || 5432)] } : {};
  // The driver would compare the certificate of a server without a name with "localhost".
  const isVerified = !unverified.includes(sslModeOf(parsed));
  const server = {
    ...address,
    database: nameDatabase(parsed),
    ...(isVerified && isIP(host) !== 0 ? { ssl: { host } } : {}),
    connect_timeout: 10,
    onnotice: () => undefined,
  };
  // The login sees the work of its sessions, and a role does not.
  const openProbe = () =>
    postgres(url, {
      ...server,
      max: 1,
      fetch_types: false,
      connection: { application_name: applicationName, search_path: safeSearchPath },
    });
  return postgres(url, {
    ...server,
    max: pool.max,
    silence_timeout: silenceMs / 1000,
    onsilence: async (pid) => await isSessionLost(openProbe, pid, silenceMs),
    // A pool of one session exists for what the session holds. The sessions of other pools come and go with the work.
    ...(pool.max === 1 ? { idle_timeout: 0, max_lifetime: null } : { idle_timeout: 60 }),
    ...(pool.onclose === undefined ? {} : { onclose: pool.onclose }),
    ...(pool.parsesJson ? { types: jsonTypes } : {}),
    connection: {
      application_name: applicationName,
      TimeZone: 'UTC',
      DateStyle: 'ISO, MDY',
      // What the owner of the database may have set otherwise: how arrays, texts, bytes and names are read and written, and what statements of one transaction see.
      IntervalStyle: 'postgres',
      array_nulls: 'on',
      bytea_output: 'hex',
      extra_float_digits: 1,
      standard_conforming_strings: 'on',
      quote_all_identifiers: 'off',
      transform_null_equals: 'off',
      default_transaction_isolation: 'read committed',
      // The owner of the database could set another search path, with functions of the same names that hide what they should find.
      search_path: safeSearchPath,
      // Row security that someone turned on would hide rows, such as a pause or an exemption, without an error. Now the statement fails.
      row_security: 'off',
      // Intents and approvals must be there after a crash, under any default of the server (R4).
      synchronous_commit: 'on',
      // A process that is suspended, or a machine that is cut off, within a transaction would hold its locks for hours.
      idle_in_transaction_session_timeout: mostIdleMs,
      // The session of a client that vanished without a word ends a minute later, and with it the locks of its transaction. The usual default is two hours.
      tcp_keepalives_idle: 30,
      tcp_keepalives_interval: 10,
      tcp_keepalives_count: 3,
      // Statements here are short: to compile one takes longer than to run it.
      jit: 'off',
      // Citus: the owner changes several tables in one transaction. Elsewhere, the setting means nothing.
      ...(role ? { role } : { 'citus.multi_shard_modify_mode': 'sequential' }),
      ...noLimits,
      ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
      ...pool.settings,
    },
  });
}

/** Returns the name of the database in an address. The driver would take its escapes as they are. */
const nameDatabase = (url: URL) => decodeURIComponent(url.pathname.slice(1));

/**
 * Returns the version of the server. Throws a UserError if there is no session with the settings of `connect`, if triggers do not run in it, or if the
 * database cannot store every text.
 */
export async function readVersion(
  sql: Sql,
  url: string,
  role: StoreRole | undefined,
): Promise<{ name: string; number: number }> {
  try {
    const [row] =
      await sql`select split_part(current_setting('server_version'), ' ', 1) as name, current_setting('server_version_num')::int as number,
        current_setting('role') as role, current_setting('search_path') as search_path,
        (select source from pg_settings where name = 'search_path') as source, current_setting('session_replication_role') as replication,
        current_setting('server_encoding') as encoding`;
    // A login may have the same settings of its own, and then a pooler drops ours all the same.
    if (row?.search_path !== safeSearchPath || row.source !== 'client' || (role !== undefined && row.role !== role))
      throw storeError(inWordsOfPooler(url, 'drops'));
    if (row.replication !== 'origin') throw storeError(inWordsOfReplication(url));
    if (row.encoding !== 'UTF8') throw storeError(inWordsOfEncoding(url, String(row.encoding)));
    return { name: String(row.name), number: Number(row.number) };
  } catch (error) {
    throw error instanceof UserError ? error : describeConnectError(error, url, role);
  }
}

const inWordsOfSilence = (url: string) =>
  `The server at ${new URL(url).host} accepts connections, and does not answer as Postgres does: it is another program, or a proxy whose database is down. Start the database, or fix DATABASE_URL.`;

/** A pooler gives each transaction another session. The role of a process does not hold there, and its locks do not keep others out. */
const inWordsOfPooler = (url: string, verb: string) =>
  `The server at ${new URL(url).host} ${verb} the settings of sessions, as connection poolers do, and the roles and locks of Keywarden need them: set DATABASE_URL to the address of the database itself.`;

/** Only a superuser may change the setting, so a session cannot change it back. */
const inWordsOfReplication = (url: string) =>
  `The database at ${new URL(url).host} has another session_replication_role than origin, perhaps from a restore: no trigger would record events in the ledger. Reset it as a superuser, for the database, its users and the server.`;

/** A key whose name the database cannot store would stop each listing of its scope. */
const inWordsOfEncoding = (url: string, encoding: string) =>
  `The database at ${new URL(url).host} has the encoding ${encoding}, which cannot store every text; create it with TEMPLATE template0 ENCODING 'UTF8'.`;

/** Why a database refuses a connection, and what to change, by the code of the error. */
const refusals: Record<string, string> = {
  '28P01': 'refuses user USER; fix the user or password in DATABASE_URL, or renew a password that has expired',
  '28000':
    'refuses user USER; fix the user in DATABASE_URL, or its pg_hba.conf, which may ask for TLS (?sslmode=require) or for a client certificate (not supported)',
  '53300':
    'has no connection left for user USER (53300); raise max_connections or the limit of the role, or end other sessions',
  XX000: 'has an internal error (XX000), such as a full disk; see its log',
};

/** Returns the error for a database that cannot be used. It never contains the URL, which holds a password. */
function describeConnectError(error: unknown, url: string, role: StoreRole | undefined): UserError {
  const parsed = new URL(url);
  const { host } = parsed;
  const username = decodeURIComponent(parsed.username);
  const database = nameDatabase(parsed) || username;
  const code = codeOf(error);
  // protocol_violation: a startup parameter that a pooler does not pass on.
  if (code === '08P01') return storeError(inWordsOfPooler(url, 'refuses'), { cause: error });
  if (role !== undefined && code === '22023')
    return storeError(`The database at ${host} has no role ${role} yet; run keywarden migrate.`, { canRetry: true });
  const refused = (message: string, canRetry = false) => new UserError('store', message, { canRetry, cause: error });
  const refusal = refusals[code] ?? certificateFault(code);
  if (refusal !== undefined)
    return refused(`The database at ${host} ${refusal.replace('USER', username)}.`, code === '53300');
  // Postgres has the same code for a login that may not act as the role.
  if (code === '42501' && error instanceof postgres.PostgresError && error.routine === 'CheckMyDatabase')
    return refused(
      `The database user ${username} may not connect to the database ${database}; grant it as its owner: GRANT CONNECT ON DATABASE "${database}" TO "${username}".`,
    );
  if (role !== undefined && code === '42501') {
    // A grant of keywarden_admin to the login of another process would let that process create tokens.
    const grant = role === 'keywarden_admin' ? '' : `, or grant it as its owner: GRANT ${role} TO "${username}"`;
    return refused(
      `The database user ${username} may not act as ${role}; set DATABASE_URL to a login of that role (docs/ROLES.md)${grant}.`,
    );
  }
  if (code === 'CONNECTION_CLOSED') return refused(inWordsOfSilence(url), true);
  if (code === '3D000') return refused(`There is no database ${database} at ${host}; create it, or fix DATABASE_URL.`);
  // A server without TLS takes its first bytes for a broken request.
  const why =
    code === 'ECONNRESET' && !unencrypted.includes(sslModeOf(parsed))
      ? 'ended the connection where TLS begins; turn on ssl there, or change sslmode in DATABASE_URL'
      : `cannot be reached (${code}); start it, or fix DATABASE_URL`;
  return refused(`The database at ${host} ${why}.`, deniedByDeno(error) === null);
}
