import { createApiClient } from '@neondatabase/api-client';
import { bigint, jsonb, pgSchema, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/postgres-js';

// The yardstick of `ingest`: what a user would write in an hour. The official client follows the cursors, and drizzle inserts a page at a time.

const operation = pgSchema('keywarden').table('operation', {
  projectNumber: bigint('project_number', { mode: 'number' }).notNull(),
  createdAt: timestamp('created_at', { withTimezone: true, mode: 'string' }).notNull(),
  id: uuid('id').notNull(),
  branchId: text('branch_id'),
  endpointId: text('endpoint_id'),
  action: text('action').notNull(),
  status: text('status').notNull(),
  failuresCount: bigint('failures_count', { mode: 'number' }).notNull(),
  error: text('error'),
  updatedAt: timestamp('updated_at', { withTimezone: true, mode: 'string' }).notNull(),
  totalDurationMs: bigint('total_duration_ms', { mode: 'number' }),
  extra: jsonb('extra'),
});

const db = drizzle(process.env.DATABASE_URL ?? '');
const client = createApiClient({
  apiKey: process.env.CONTROL_PLANE_API_KEY ?? '',
  baseURL: process.env.CONTROL_PLANE_URL ?? '',
});
const today = new Date();
const months = Array.from({ length: 8 }, (_, index) =>
  new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - index)).toISOString().slice(0, 10),
);
await db.$client`select keywarden.make_operation_partitions(${months}::text[]::date[])`;

const { organizations } = (await client.getCurrentUserOrganizations()).data;
let number = 0;
for (const { id: organizationId } of organizations) {
  for (let projectCursor: string | undefined; ; ) {
    const page = (
      await client.listProjects({
        org_id: organizationId,
        limit: 400,
        ...(projectCursor ? { cursor: projectCursor } : {}),
      })
    ).data;
    for (const project of page.projects) {
      number += 1;
      await readProject(project.id, number);
    }
    projectCursor = page.pagination?.cursor;
    if (projectCursor === undefined || page.projects.length === 0) break;
  }
}
await db.$client.end();

async function readProject(projectId: string, projectNumber: number): Promise<void> {
  for (let cursor: string | undefined; ; ) {
    const page = (await client.listProjectOperations({ projectId, limit: 1000, ...(cursor ? { cursor } : {}) })).data;
    const rows = page.operations.map((each) => ({
      projectNumber,
      createdAt: each.created_at,
      id: each.id,
      branchId: each.branch_id ?? null,
      endpointId: each.endpoint_id ?? null,
      action: each.action,
      status: each.status,
      failuresCount: each.failures_count,
      error: each.error ?? null,
      updatedAt: each.updated_at,
      totalDurationMs: each.total_duration_ms,
    }));
    if (rows.length > 0) await db.insert(operation).values(rows).onConflictDoNothing();
    cursor = page.pagination?.cursor;
    if (cursor === undefined || rows.length === 0) return;
  }
}
