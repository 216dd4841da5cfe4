import { sql } from 'drizzle-orm';
import { index, integer, jsonb, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instant, int64, type JsonObject, keywarden, reference } from './columns.ts';
import { controlPlane } from './connections.ts';
import { incident } from './incidents.ts';
import { credential } from './keys.ts';

/**
 * A finding that is being announced. It ends with the finding; if the finding returns, it is announced again (R9). basis: the finding's
 * reason.
 */
export const announcement = keywarden.table(
  'announcement',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    keyNumber: int64('key_number').notNull(),
    rule: text('rule').notNull(),
    basis: text('basis').notNull(),
    openedAt: instant('opened_at').notNull().default(sql`now()`),
    endedAt: instant('ended_at'),
  },
  (t) => [
    reference(t.keyNumber, credential.number),
    uniqueIndex('announcement_open').on(t.keyNumber, t.rule).where(sql`ended_at is null`),
  ],
);

/**
 * One message to one channel, with the same body in every attempt. accepted_at is the control plane's time: the grace period starts there.
 */
export const noticeMessage = keywarden.table(
  'notice_message',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    id: uuid('id').notNull().defaultRandom(),
    controlPlaneNumber: int64('control_plane_number').notNull(),
    channel: text('channel').notNull(),
    owner: text('owner').notNull(),
    body: jsonb('body').$type<JsonObject>().notNull(),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
    acceptedAt: instant('accepted_at'),
    cancelledAt: instant('cancelled_at'),
    incidentNumber: int64('incident_number'),
  },
  (t) => [
    reference(t.controlPlaneNumber, controlPlane.number),
    reference(t.incidentNumber, incident.number),
    index('notice_message_by_incident').on(t.incidentNumber).where(sql`incident_number is not null`),
    index('notice_message_pending').on(t.number).where(sql`accepted_at is null and cancelled_at is null`),
  ],
);

export const notice = keywarden.table(
  'notice',
  {
    announcementNumber: int64('announcement_number').notNull(),
    step: text('step').notNull(),
    channel: text('channel').notNull(),
    messageNumber: int64('message_number').notNull(),
  },
  (t) => [
    primaryKey({ name: 'notice_pkey', columns: [t.announcementNumber, t.step, t.channel, t.messageNumber] }),
    reference(t.announcementNumber, announcement.number),
    reference(t.messageNumber, noticeMessage.number),
    index('notice_by_message').on(t.messageNumber),
  ],
);
