import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';

/** An unsigned review of a campaign, and what its reminders need. Times are ms since 1970, by the database's clock. */
export interface CampaignReview {
  number: string;
  title: string;
  reviewer: string;
  keys: number;
  undecided: number;
  dueAt: string;
  dueMs: number;
  nowMs: number;
  remindDays: number[];
  escalateTo: string | null;
  escalateAfterDays: number;
  /** The store's numbers of the control planes of its keys. */
  controlPlanes: string[];
  /** The reminders that were written, as `CHANNEL STEP`. */
  written: string[];
}

/** Lists the unsigned reviews of all campaigns. */
export async function listCampaignReviews(sql: Sql): Promise<CampaignReview[]> {
  const rows = await sql`
    select r.number, r.title, r.reviewer, c.due_at, c.remind_days, c.escalate_to, c.escalate_after_days,
      extract(epoch from c.due_at)::float8 * 1000 as due_ms, extract(epoch from now())::float8 * 1000 as now_ms, i.keys, i.undecided, i.control_planes,
      array(select w.channel || ' ' || w.step from keywarden.review_reminder w where w.review_number = r.number) as written
    from keywarden.review r join keywarden.review_campaign c on c.number = r.campaign_number
      cross join lateral (select count(*)::int as keys, count(*) filter (where i.decision is null)::int as undecided,
          array_agg(distinct k.control_plane_number::text) as control_planes
        from keywarden.review_item_now i join keywarden.credential k on k.number = i.key_number where i.review_number = r.number) i
    where not exists (select from keywarden.review_signature s where s.review_number = r.number)
    order by r.number`;
  return rows.map((row) => ({
    number: String(row.number),
    title: String(row.title),
    reviewer: String(row.reviewer),
    keys: Number(row.keys),
    undecided: Number(row.undecided),
    dueAt: toInstant(String(row.due_at)),
    dueMs: Number(row.due_ms),
    nowMs: Number(row.now_ms),
    remindDays: (row.remind_days as unknown[]).map(Number), // integer[] of the table
    escalateTo: typeof row.escalate_to === 'string' ? row.escalate_to : null,
    escalateAfterDays: Number(row.escalate_after_days),
    controlPlanes: (row.control_planes as unknown[]).map(String), // text[] of the query
    written: (row.written as unknown[]).map(String), // text[] of the query
  }));
}

/** Decides about the undecided keys of reviews that are due and whose campaign has a default decision. Returns the number of decisions. */
export async function applyReviewDefaults(sql: Sql): Promise<number> {
  const [row] = await sql`select keywarden.apply_review_defaults() as decided`;
  return Number(row?.decided);
}

/** Closes the incidents of overdue reviews that are signed, and cancels their reminders and those that a newer one replaces, as far as not sent. */
export async function settleReviewReminders(sql: Sql): Promise<void> {
  await sql`
    update keywarden.incident i set closed_at = now(), closed_by = 'keywarden', note = 'the review is signed'
    where i.kind = 'review_overdue' and i.closed_at is null
      and exists (select from keywarden.review_signature s where i.scope = 'review ' || s.review_number)`;
  await sql`
    update keywarden.notice_message m set cancelled_at = now() from keywarden.review_reminder w
    where m.number = w.message_number and m.accepted_at is null and m.cancelled_at is null
      and (exists (select from keywarden.review_signature s where s.review_number = w.review_number)
        or exists (select from keywarden.review_reminder n where n.review_number = w.review_number and n.channel = w.channel
          and n.message_number > w.message_number))`;
}
