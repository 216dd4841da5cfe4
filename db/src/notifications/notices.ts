import type { DueNotice, KeyFacts } from '@keywarden/core/policy';
import { and, asc, eq, isNull, sql as raw } from 'drizzle-orm';
import { toInstant } from '../schema/columns.ts';
import { announcement, notice, noticeMessage } from '../schema/notifications.ts';
import { reviewReminder } from '../schema/reviews.ts';
import { builderOf, type Db, type Sql, toJson } from '../sql.ts';

/** A message to one channel about the keys of one owner at one control plane. */
export interface NewMessage {
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

/**
 * Ends announcements whose finding no longer holds. Unaccepted messages about such an announcement are cancelled. Their other notices are
 * written again.
 */
export async function endAnnouncements(sql: Sql, lapsed: { key: KeyFacts; rule: string }[]): Promise<void> {
  const rows = lapsed.map(({ key, rule }) => ({ key_number: key.number, rule }));
  await sql.begin(async (tx) => {
    await tx`
      update keywarden.announcement a set ended_at = now()
      from json_to_recordset(${toJson(rows)}::json) as t(key_number bigint, rule text)
      where a.key_number = t.key_number and a.rule = t.rule and a.ended_at is null`;
    await tx`
      update keywarden.announcement a set ended_at = now() from keywarden.credential k
      where k.number = a.key_number and k.gone_at is not null and a.ended_at is null`;
    await tx`
      update keywarden.notice_message m set cancelled_at = now()
      where m.accepted_at is null and m.cancelled_at is null and exists (
        select from keywarden.notice n join keywarden.announcement a on a.number = n.announcement_number
        where n.message_number = m.number and a.ended_at is not null)`;
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
    if (reminder !== undefined && message !== undefined)
      await builderOf(tx)
        .insert(reviewReminder)
        .values(
          reminder.reviews.map((reviewNumber) => ({
            reviewNumber,
            step: reminder.step,
            channel,
            messageNumber: message.number,
          })),
        );
  });
}

/** An open incident of a stalled rotation for which a channel has no message yet. */
export interface UntoldStall {
  incident: string;
  controlPlane: string;
  /** The old key, gone or not. */
  key: {
    number: string;
    id: string;
    kind: string;
    name: string;
    organizationId: string | null;
    projectId: string | null;
    creatorId: string;
    createdAt: string;
    lastUsedAt: string | null;
  };
  rule: string | null;
  why: string;
}

export async function listUntoldStalls(sql: Sql, channel: string): Promise<UntoldStall[]> {
  const rows = await sql`
    select c.number, c.detail ->> 'why' as why, r.rule, k.number as key_number, k.id, k.kind, k.name, k.organization_id, k.project_id,
      k.creator_id, k.created_at, k.last_used_at, k.control_plane_number
    from keywarden.incident c join keywarden.key k on k.number = c.key_number
      left join keywarden.rotation r on r.id = c.detail ->> 'rotation'
    where c.kind = 'rotation_stalled' and c.closed_at is null and not exists (
      select from keywarden.notice_message m where m.channel = ${channel} and m.incident_number = c.number)
    order by c.number`;
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return rows.map((row) => ({
    incident: String(row.number),
    controlPlane: String(row.control_plane_number),
    key: {
      number: String(row.key_number),
      id: String(row.id),
      kind: String(row.kind),
      name: String(row.name),
      organizationId: text(row.organization_id),
      projectId: text(row.project_id),
      creatorId: String(row.creator_id),
      createdAt: toInstant(String(row.created_at)),
      lastUsedAt: typeof row.last_used_at === 'string' ? toInstant(row.last_used_at) : null,
    },
    rule: row.rule === null ? null : String(row.rule),
    why: String(row.why),
  }));
}

/** A message that its channel has not accepted yet. */
export interface PendingMessage {
  number: string;
  id: string;
  controlPlane: string;
  channel: string;
  createdAt: string;
  attempts: number;
  body: Record<string, unknown>;
}

/**
 * Lists the messages that a channel has not yet accepted: fewest attempts first, then the oldest. No message can therefore block all
 * others.
 */
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
  const told = 'error' in result ? { acceptedAt: null, lastError: result.error } : { ...result, lastError: null };
  await db
    .update(noticeMessage)
    .set({ attempts: raw`${attempts} + 1`, ...told })
    .where(and(eq(number, message), isNull(acceptedAt)));
}
