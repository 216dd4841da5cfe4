import { boolean, foreignKey, index, jsonb, text } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, type JsonObject, refers, table } from './columns.ts';
import { controlPlane } from './connections.ts';

export const organization = table('organization', {
  controlPlaneNumber: inKey(refers(int64('control_plane_number'), () => controlPlane.number)).notNull(),
  id: inKey(text('id')).notNull(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull(),
  extra: jsonb('extra').$type<JsonObject>(),
  firstSeenAt: instant('first_seen_at').notNull(),
  lastSeenAt: instant('last_seen_at').notNull(),
});

/** missing_since: absent from one complete listing; left_at or gone_at: absent from two in a row. */
export const member = table(
  'member',
  {
    controlPlaneNumber: inKey(int64('control_plane_number')).notNull(),
    organizationId: inKey(text('organization_id')).notNull(),
    userId: inKey(text('user_id')).notNull(),
    memberId: text('member_id').notNull(),
    email: text('email').notNull(),
    role: text('role').notNull(),
    joinedAt: instant('joined_at'),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    missingSince: instant('missing_since'),
    leftAt: instant('left_at'),
    /** When a listing showed the user again after one or more listings without them. */
    returnedAt: instant('returned_at'),
    /** When the user was last seen before the first of these absences. */
    awaySince: instant('away_since'),
  },
  (t) => [
    foreignKey({
      name: 'member_control_plane_number_organization_id_fkey',
      columns: [t.controlPlaneNumber, t.organizationId],
      foreignColumns: [organization.controlPlaneNumber, organization.id],
    }),
    index('member_by_user').on(t.controlPlaneNumber, t.userId),
  ],
);

/** Complete listings of an organization's members. is_sudden: most members were suddenly absent (A7). */
export const memberListing = table('member_listing', {
  controlPlaneNumber: inKey(refers(int64('control_plane_number'), () => controlPlane.number)).notNull(),
  organizationId: inKey(text('organization_id')).notNull(),
  listedAt: inKey(instant('listed_at')).notNull(),
  isSudden: boolean('is_sudden').notNull(),
});
