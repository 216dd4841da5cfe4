import { sql } from 'drizzle-orm';
import { index, integer, jsonb, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, type JsonObject, refers, table } from './columns.ts';
import { controlPlane } from './connections.ts';
import { incident } from './incidents.ts';
import { credential } from './keys.ts';

/** A finding that is being announced, for as long as it lasts; one that returns is announced again (R9). basis: its reason. */
export const announcement = table(
  'announcement',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
    rule: text('rule').notNull(),
    basis: text('basis').notNull(),
    openedAt: instant('opened_at').notNull().default(sql`now()`),
    endedAt: instant('ended_at'),
  },
  (t) => [uniqueIndex('announcement_open').on(t.keyNumber, t.rule).where(sql`ended_at is null`)],
);

/** One message to one channel, with the same body in every attempt. accepted_at is the control plane's time: the grace period starts there. */
export const noticeMessage = table(
  'notice_message',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    id: uuid('id').notNull().defaultRandom(),
    controlPlaneNumber: refers(int64('control_plane_number'), () => controlPlane.number).notNull(),
    channel: text('channel').notNull(),
    owner: text('owner').notNull(),
    body: jsonb('body').$type<JsonObject>().notNull(),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
    acceptedAt: instant('accepted_at'),
    cancelledAt: instant('cancelled_at'),
    incidentNumber: refers(int64('incident_number'), () => incident.number),
  },
  (t) => [
    index('notice_message_by_incident').on(t.incidentNumber).where(sql`incident_number is not null`),
    index('notice_message_pending').on(t.number).where(sql`accepted_at is null and cancelled_at is null`),
  ],
);

export const notice = table(
  'notice',
  {
    announcementNumber: inKey(refers(int64('announcement_number'), () => announcement.number)).notNull(),
    step: inKey(text('step')).notNull(),
    channel: inKey(text('channel')).notNull(),
    messageNumber: inKey(refers(int64('message_number'), () => noticeMessage.number)).notNull(),
  },
  (t) => [index('notice_by_message').on(t.messageNumber)],
);
