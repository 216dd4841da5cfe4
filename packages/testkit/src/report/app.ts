import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, createMarks } from '@keywarden/report';
import { createLogger } from '@keywarden/runtime';
import type { TestStore } from '../store/test-store.ts';

/** Creates the report's app over a test store, in its own role, without a limit of requests. A client is named by the header x-peer. */
export async function makeApp(store: Pick<TestStore, 'as'>, { now = Date.now }: { now?: () => number } = {}) {
  const { db, sql } = await store.as('keywarden_report');
  const log = createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' });
  const app = createApp({
    requestsPerMinute: 1e9,
    sql,
    log,
    marks: createMarks({ db, dataFolder: mkdtempSync(join(tmpdir(), 'keywarden-report-')) }),
    now,
    transport: { isTls: false, proxies: [] },
    peerOf: (c) => c.req.header('x-peer') ?? '127.0.0.1',
  });
  return { app, db, sql, log };
}
