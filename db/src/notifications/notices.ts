import type { DueNotice, KeyFacts } from '@keywarden/core/policy';
import { and, asc, eq, exists, isNotNull, isNull, notExists, sql as raw } from 'drizzle-orm';
import { holdList } from '../locks.ts';
import { incident } from '../schema/incidents.ts';
import { credential, key } from '../schema/keys.ts';
import { announcement, notice, noticeMessage } from '../schema/notifications.ts';
import { rotation } from '../schema/rotations.ts';
import { builderOf, type Db, hasValues, noneOf, type Sql, toJson } from '../sql.ts';

/** A message to one channel about the keys of one owner at one control plane. */
interface NewMessage {
  controlPlane: string;
  channel: string;
  owner: string;
  body: object;
  notices: Pick<DueNotice, 'key' | 'rule' | 'basis' | 'step'>[];
  /** The incident that the message is about, instead of notices. */
  incident?: string;
  /** The access reviews that the message is about, and which of their reminders it is, instead of notices. */
  reminder?: { reviews: string[]; step: string };
}

/** What several messages, announcements or notices at once are written under. */
export const listOfNotices = 'notices';

/** Ends announcements whose finding no longer holds. Cancels their unaccepted messages; the other notices of these are written again. */
export async function endAnnouncements(sql: Sql, lapsed: { key: KeyFacts; rule: string }[]): Promise<void> {
  const rows = lapsed.map(({ key, rule }) => ({ key_number: key.number, rule }));
  await sql.begin(async (tx) => {
    await holdList(tx, listOfNotices);
    await tx`
      update keywarden.announcement a set ended_at = now()
      from json_to_recordset(${toJson(rows)}::json) as t(key_number bigint, rule text)
      where a.key_number = t.key_number and a.rule = t.rule and a.ended_at is null`;
    const db = builderOf(tx);
    await db
      .update(announcement)
      .set({ endedAt: raw`now()` })
      .from(credential)
      .where(
        and(eq(credential.number, announcement.keyNumber), isNotNull(credential.goneAt), isNull(announcement.endedAt)),
      );
    const ended = db
      .select({ step: notice.step })
      .from(notice)
      .innerJoin(announcement, eq(announcement.number, notice.announcementNumber))
      .where(and(eq(notice.messageNumber, noticeMessage.number), isNotNull(announcement.endedAt)));
    await db
      .update(noticeMessage)
      .set({ cancelledAt: raw`now()` })
      .where(and(isNull(noticeMessage.acceptedAt), isNull(noticeMessage.cancelledAt), exists(ended)));
  });
}

/**
 * Cancels the notices that no configured channel will send; they would count as unaccepted for ever. If their channel comes back, they are written again.
 * Reminders and other messages are written only once, so they wait for their channel.
 */
export async function cancelUnsendable(sql: Sql, channels: string[]): Promise<void> {
  const { number, channel, acceptedAt, cancelledAt } = noticeMessage;
  await sql.begin(async (tx) => {
    await holdList(tx, listOfNotices);
    const db = builderOf(tx);
    const announced = db.select({ step: notice.step }).from(notice).where(eq(notice.messageNumber, number));
    await db
      .update(noticeMessage)
      .set({ cancelledAt: raw`now()` })
      .where(and(isNull(acceptedAt), isNull(cancelledAt), noneOf(channel, channels), exists(announced)));
  });
}

/** Lists which of these notices have already been written for a channel, sent or not, as `KEY RULE STEP`. */
export async function listWritten(db: Db, channel: string): Promise<Set<string>> {
  const rows = await db
    .select({ key: announcement.keyNumber, rule: announcement.rule, step: notice.step })
    .from(notice)
    .innerJoin(announcement, eq(announcement.number, notice.announcementNumber))
    .innerJoin(noticeMessage, eq(noticeMessage.number, notice.messageNumber))
    .where(and(eq(notice.channel, channel), isNull(announcement.endedAt), isNull(noticeMessage.cancelledAt)));
  return new Set(rows.map(({ key, rule, step }) => `${key} ${rule} ${step}`));
}

/** Opens the announcements that are not yet open, and writes a message with its notices. Sends nothing. */
export async function writeMessage(
  sql: Sql,
  { controlPlane, channel, owner, body, notices, incident, reminder }: NewMessage,
): Promise<void> {
  const rows = notices.map(({ key, rule, basis, step }) => ({ key_number: key.number, rule, basis, step }));
  await sql.begin(async (tx) => {
    await holdList(tx, listOfNotices);
    await tx`
      insert into keywarden.announcement (key_number, rule, basis)
      select distinct key_number, rule, basis from json_to_recordset(${toJson(rows)}::json) as t(key_number bigint, rule text, basis text)
      on conflict (key_number, rule) where ended_at is null do nothing`;
    const [message] = await builderOf(tx)
      .insert(noticeMessage)
      .values({
        controlPlaneNumber: controlPlane,
        channel,
        owner,
        body: raw`${toJson(body)}::jsonb`,
        incidentNumber: incident,
      })
      .returning({ number: noticeMessage.number });
    await tx`
      insert into keywarden.notice (announcement_number, step, channel, message_number)
      select a.number, t.step, ${channel}, ${message?.number ?? null}::bigint
      from json_to_recordset(${toJson(rows)}::json) as t(key_number bigint, rule text, step text)
        join keywarden.announcement a on a.key_number = t.key_number and a.rule = t.rule and a.ended_at is null`;
    if (reminder !== undefined)
      // In the order in which `apply_review_defaults` locks reviews.
      await tx`
        insert into keywarden.review_reminder (review_number, step, channel, message_number)
        select r, ${reminder.step}, ${channel}, ${message?.number ?? null}::bigint from unnest(${reminder.reviews}::bigint[]) r order by r`;
  });
}

/** Lists the open incidents of stalled rotations for which a channel has no message yet, with the old key, gone or not. */
export async function listStallsToNotify(db: Db, channel: string) {
  const { number, id, kind, name, organizationId, projectId, creatorId, createdAt, lastUsedAt } = key;
  const messages = db
    .select({ number: noticeMessage.number })
    .from(noticeMessage)
    .where(hasValues(noticeMessage, { channel, incidentNumber: incident.number }));
  return await db
    .select({
      incident: incident.number,
      controlPlane: key.controlPlaneNumber,
      key: { number, id, kind, name, organizationId, projectId, creatorId, createdAt, lastUsedAt },
      rule: rotation.rule,
      why: raw<string>`${incident.detail} ->> 'why'`,
    })
    .from(incident)
    .innerJoin(key, eq(key.number, incident.keyNumber))
    .leftJoin(rotation, raw`${rotation.id} = ${incident.detail} ->> 'rotation'`)
    .where(and(hasValues(incident, { kind: 'rotation_stalled', closedAt: null }), notExists(messages)))
    .orderBy(asc(incident.number));
}

/** A message that its channel has not accepted yet. */
export type PendingMessage = Pick<
  typeof noticeMessage.$inferSelect,
  'number' | 'id' | 'channel' | 'createdAt' | 'attempts' | 'body'
> & { controlPlane: string };

/** Lists the messages that a channel has not accepted, fewest attempts first, then the oldest: no message blocks all others. */
export async function listPending(db: Db, of: string): Promise<PendingMessage[]> {
  const { number, id, controlPlaneNumber, channel, createdAt, attempts, body, acceptedAt, cancelledAt } = noticeMessage;
  return await db
    .select({ number, id, controlPlane: controlPlaneNumber, channel, createdAt, attempts, body })
    .from(noticeMessage)
    .where(and(eq(channel, of), isNull(acceptedAt), isNull(cancelledAt)))
    .orderBy(asc(attempts), asc(number));
}

/** Records one attempt: the control plane's time of acceptance, or why the channel did not accept. */
export async function recordAttempt(
  db: Db,
  message: string,
  result: { acceptedAt: string } | { error: string },
): Promise<void> {
  const { number, attempts, acceptedAt } = noticeMessage;
  const outcome = 'error' in result ? { acceptedAt: null, lastError: result.error } : { ...result, lastError: null };
  await db
    .update(noticeMessage)
    .set({ attempts: raw`${attempts} + 1`, ...outcome })
    .where(and(eq(number, message), isNull(acceptedAt)));
}
