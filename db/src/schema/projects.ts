import { index, integer, jsonb, text, unique } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, refers, table } from './columns.ts';
import { controlPlane } from './connections.ts';

/**
 * Projects.
 * - walked_at: the control plane's time at the start of the last completed walk of the project's operations
 * - listed_active_at: when the project's list entry was last seen to have changed
 * - hole_tried_at: when a walk last looked for the gaps of a project's coverage, by the control plane's clock
 * - deleted_at: when the control plane deleted the project, from its list of recoverable projects; null if only its absence is known
 * - walk_refused_at: when the control plane answered that the deleted project's operations are not available
 * Projects whose walks kept no coverage are walked completely once more.
 */
export const project = table(
  'project',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    controlPlaneNumber: refers(int64('control_plane_number'), () => controlPlane.number).notNull(),
    id: text('id').notNull(),
    organizationId: text('organization_id').notNull(),
    name: text('name').notNull(),
    regionId: text('region_id'),
    pgVersion: integer('pg_version'),
    ownerId: text('owner_id'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    extra: jsonb('extra').$type<JsonObject>(),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    missingSince: instant('missing_since'),
    goneAt: instant('gone_at'),
    walkedAt: instant('walked_at'),
    listedActiveAt: instant('listed_active_at'),
    gapTriedAt: instant('hole_tried_at'),
    deletedAt: instant('deleted_at'),
    walkRefusedAt: instant('walk_refused_at'),
  },
  (t) => [
    unique('project_control_plane_number_id_key').on(t.controlPlaneNumber, t.id),
    index('project_by_organization').on(t.controlPlaneNumber, t.organizationId),
  ],
);
