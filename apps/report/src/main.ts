import { type ServerType, serve } from '@hono/node-server';
import {
  aborted,
  codeOf,
  createLogger,
  ensureDataFolder,
  exitCode,
  readEnvironment,
  runMain,
  stopSignal,
  UserError,
} from '@keywarden/core/process';
import { openStore } from '@keywarden/db/store';
import { createApp } from './app.ts';

await runMain(async () => {
  const environment = readEnvironment(process.env);
  const { REPORT_HOST: host, REPORT_PORT: port, KEYWARDEN_DATA: dataFolder } = environment;
  const log = createLogger({ level: environment.LOG_LEVEL, format: environment.LOG_FORMAT, name: 'report' });
  ensureDataFolder(dataFolder);
  const signal = stopSignal();
  const store = await openStore({
    databaseUrl: environment.DATABASE_URL,
    dataFolder,
    applicationName: 'keywarden report',
    role: 'keywarden_report',
  });
  try {
    const server = await listen(createApp({ db: store.db, log }), { host, port });
    const address = server.address();
    const url = `http://${host}:${typeof address === 'object' && address !== null ? address.port : port}`;
    // Whoever started this process over a channel (npm start) hears where it listens.
    process.send?.({ ready: { url } });
    log.info({ url }, 'the report listens');
    await aborted(signal);
    await close(server);
    log.info('the report has stopped');
    return exitCode.done;
  } finally {
    await store.close();
  }
});

function listen(
  app: ReturnType<typeof createApp>,
  { host, port }: { host: string; port: number },
): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: host, port }, () => resolve(server));
    server.once('error', (error) => reject(describeListenError(error, { host, port })));
  });
}

function describeListenError(error: unknown, { host, port }: { host: string; port: number }): UserError {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') {
    return new UserError(
      `Port ${port} is taken; end the program that listens there, or set REPORT_PORT to another port (0 picks a free one).`,
    );
  }
  return new UserError(`The report cannot listen on ${host}:${port} (${code}); mend REPORT_HOST or REPORT_PORT.`, {
    cause: error,
  });
}

function close(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeIdleConnections' in server) server.closeIdleConnections();
    // Answers that are under way have a moment to end.
    setTimeout(() => 'closeAllConnections' in server && server.closeAllConnections(), 2000).unref();
  });
}
