import { z } from 'zod';
import { holdList } from '../locks.ts';
import { listOfNotices } from '../notifications/notices.ts';
import { toInstant } from '../schema/columns.ts';
import { readNumber, type Sql, toJson } from '../sql.ts';

/** An unsigned review of a campaign, and what its reminders need. Times are ms since 1970, by the database's clock. */
const campaignReview = z.object({
  number: z.string(),
  /** The number of its campaign. */
  campaign: z.string(),
  campaignTitle: z.string(),
  title: z.string(),
  reviewer: z.string(),
  keys: z.int(),
  undecided: z.int(),
  /** Keys whose newest decision is the default of the campaign. */
  byDefault: z.int(),
  dueAt: z.string().transform(toInstant),
  dueMs: z.number(),
  nowMs: z.number(),
  remindDays: z.array(z.int()),
  escalateTo: z.string().nullable(),
  escalateAfterDays: z.int(),
  /** The store's numbers of the control planes of its keys. */
  controlPlanes: z.array(z.string()),
  /** The reminders that were written, as `CHANNEL STEP`. */
  written: z.array(z.string()),
});

export type CampaignReview = z.output<typeof campaignReview>;

/** Lists the unsigned reviews of all campaigns that are not canceled. */
export async function listCampaignReviews(sql: Sql): Promise<CampaignReview[]> {
  const rows = await sql`
    select r.number, r.title, r.reviewer, c.number as campaign, c.title as "campaignTitle", c.due_at as "dueAt", c.remind_days as "remindDays",
      c.escalate_to as "escalateTo", c.escalate_after_days as "escalateAfterDays", extract(epoch from c.due_at)::float8 * 1000 as "dueMs",
      extract(epoch from now())::float8 * 1000 as "nowMs", i.keys, i.undecided, i.by_default as "byDefault", i.control_planes as "controlPlanes",
      array(select w.channel || ' ' || w.step from keywarden.review_reminder w where w.review_number = r.number) as written
    from keywarden.review r join keywarden.review_campaign c on c.number = r.campaign_number
      cross join lateral (select count(*)::int as keys, count(*) filter (where i.decision is null)::int as undecided,
          count(*) filter (where i.decided_by = keywarden.campaign_default(c.number))::int as by_default,
          array_agg(distinct k.control_plane_number::text) as control_planes
        from keywarden.review_item_now i join keywarden.credential k on k.number = i.key_number where i.review_number = r.number) i
    where c.canceled_at is null and not exists (select from keywarden.review_signature s where s.review_number = r.number)
    order by r.number`;
  return rows.map((row) => campaignReview.parse(row));
}

/** Decides about the undecided keys of reviews that are due and whose campaign has a default decision. Returns the number of decisions. */
export async function applyReviewDefaults(sql: Sql): Promise<number> {
  return await readNumber(sql`select keywarden.apply_review_defaults()`);
}

/** Opens an incident for a campaign that is due while reviews are unsigned, once: one that a person has closed is not opened again. */
export async function openOverdueIncident(sql: Sql, campaign: string, detail: Record<string, unknown>): Promise<void> {
  await sql`
    insert into keywarden.incident (kind, scope, detail)
    select 'review_overdue', ${`campaign ${campaign}`}, ${toJson(detail)}::text::jsonb
    where not exists (select from keywarden.incident i where i.kind = 'review_overdue' and i.scope = ${`campaign ${campaign}`})
    on conflict do nothing`;
}

/** Closes the incidents of campaigns whose reviews are all signed, and cancels reminders of signed reviews and those that a newer one replaces, as far as not sent. */
export async function settleReviewReminders(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await holdList(tx, listOfNotices);
    await tx`
      update keywarden.incident i set closed_at = now(), closed_by = 'keywarden', note = 'every review is signed, or the campaign is canceled'
      where i.kind = 'review_overdue' and i.closed_at is null
        and not exists (select from keywarden.review r where i.scope = 'campaign ' || r.campaign_number
          and not exists (select from keywarden.review_signature s where s.review_number = r.number)
          and exists (select from keywarden.review_campaign c where c.number = r.campaign_number and c.canceled_at is null))`;
    await tx`
      update keywarden.notice_message m set cancelled_at = now()
      where m.accepted_at is null and m.cancelled_at is null
        and exists (select from keywarden.review_reminder w where w.message_number = m.number)
        and not exists (select from keywarden.review_reminder w where w.message_number = m.number
          and not exists (select from keywarden.review_signature s where s.review_number = w.review_number)
          and exists (select from keywarden.review r join keywarden.review_campaign c on c.number = r.campaign_number
            where r.number = w.review_number and c.canceled_at is null)
          and not exists (select from keywarden.review_reminder n where n.review_number = w.review_number and n.channel = w.channel
            and n.message_number > w.message_number))`;
  });
}
