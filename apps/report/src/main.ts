import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { getConnInfo } from '@hono/node-server/conninfo';
import { assertAppLogin, builderOver, openStore, type PoolOptions, probeSettings } from '@keywarden/db/store';
import {
  aborted,
  codeOf,
  createLogger,
  type Environment,
  ensureDataFolder,
  exitCode,
  listen,
  readEnvironment,
  runMain,
  startTracing,
  stopSignal,
  UserError,
  usageError,
} from '@keywarden/runtime';
import { isLocal } from './access/authenticate.ts';
import { createMarks } from './actions/marks.ts';
import { createApp } from './app.ts';
import { makeServer, type Tls } from './server.ts';

/** How long a statement of a light request, and of one that may read much, takes at most, in ms. */
const lightMs = 10_000;
const heavyMs = 20_000;

/** How often the report checks whether the store was restored, in ms. */
const checkMarksMs = 30_000;

await runMain(async () => {
  const environment = readEnvironment(process.env);
  const { REPORT_HOST: host, REPORT_PORT: port, KEYWARDEN_DATA: dataFolder } = environment;
  const log = createLogger('report', environment);
  const tls = readTls(environment);
  const transport = { isTls: tls !== undefined, proxies: environment.REPORT_PROXY };
  if (!isLocal(host) && tls === undefined && transport.proxies.length === 0)
    throw usageError(
      `Other machines can reach REPORT_HOST ${host}, and tokens must not cross the network in clear text: set REPORT_TLS_CERT and REPORT_TLS_KEY, or name the HTTPS proxy in REPORT_PROXY.`,
    );
  ensureDataFolder(dataFolder);
  const signal = stopSignal();
  const endTracing = await startTracing(environment.OTEL_EXPORTER_OTLP_ENDPOINT, 'keywarden-report');
  const store = await openStore({
    databaseUrl: environment.DATABASE_URL,
    dataFolder,
    applicationName: 'keywarden report',
    role: 'keywarden_report',
    statementTimeoutMs: lightMs,
  });
  try {
    if (!environment.ALLOW_OWNER_LOGIN) await assertAppLogin(store.sql);
    const open = (max: number, timeoutMs: number, more: PoolOptions['settings'] = {}) => {
      const sql = store.connect({ max, settings: { statement_timeout: timeoutMs, ...more } });
      builderOver(sql);
      return sql;
    };
    const marks = createMarks({ db: store.db, dataFolder });
    await marks.check();
    // The store may be restored while the report runs.
    const checks = setInterval(
      () => void marks.check().catch((err: unknown) => log.warn({ err }, 'the mark could not be checked')),
      checkMarksMs,
    );
    checks.unref();
    const app = createApp({
      sql: store.sql,
      heavySql: open(4, heavyMs),
      exportSql: open(4, heavyMs),
      accessSql: open(3, 3000, probeSettings),
      requestsPerMinute: environment.REPORT_REQUESTS_PER_MINUTE,
      opensCheckpoint: environment.REPORT_OPEN_CHECKPOINT,
      log,
      transport,
      marks,
      now: Date.now,
      peerOf: (c) => getConnInfo(c).remote.address ?? '',
    });
    const server = await listen(makeServer(app.fetch, { tls }), { host, port }).catch((error: unknown) => {
      throw describeListenError(error, { host, port });
    });
    const url = `${tls === undefined ? 'http' : 'https'}://${server.address}`;
    // A parent process with an IPC channel (npm start) receives the address.
    process.send?.({ ready: { url } });
    log.info({ url }, 'the report listens');
    await aborted(signal);
    await server.close();
    log.info('the report has stopped');
    return exitCode.done;
  } finally {
    await store.close();
    await endTracing();
  }
});

function readTls({ REPORT_TLS_CERT: cert, REPORT_TLS_KEY: key }: Environment): Tls | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw usageError('REPORT_TLS_CERT and REPORT_TLS_KEY belong together; set both or neither.');
  const read = (name: string, file: string) => {
    try {
      return readFileSync(file);
    } catch (error) {
      throw usageError(`${name} ${file} cannot be read (${codeOf(error)}); set it to a readable PEM file.`);
    }
  };
  const tls = { cert: read('REPORT_TLS_CERT', cert), key: read('REPORT_TLS_KEY', key) };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw usageError(
      `REPORT_TLS_CERT ${cert} and REPORT_TLS_KEY ${key} are not a certificate and its private key without a passphrase, in PEM (${codeOf(error)}); fix them.`,
    );
  }
  return tls;
}

function describeListenError(error: unknown, { host, port }: { host: string; port: number }): UserError {
  const code = codeOf(error);
  const message =
    code === 'EADDRINUSE'
      ? `Port ${port} is taken; end the program that listens there, or set REPORT_PORT to another port (0 picks a free one).`
      : `The report cannot listen on ${host}:${port} (${code}); fix REPORT_HOST or REPORT_PORT.`;
  return new UserError('listen', message, { cause: error });
}
