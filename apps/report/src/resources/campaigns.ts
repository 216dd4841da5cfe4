import { z } from '@hono/zod-openapi';
import { countOf } from '@keywarden/core/values';
import { campaignItem, campaignList, type Reader, reviewItem, reviewList, type Suggestion } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allowWhole, mayAct } from '../access/roles.ts';
import { cancelCampaign, openCampaign } from '../actions/reviews.ts';
import { columnsFor, proofFact } from '../dashboard/columns.ts';
import {
  ago,
  facts,
  type Html,
  link,
  type Part,
  reasonField,
  section,
  selectField,
  state,
  time,
} from '../dashboard/html.ts';
import { listPart, type Report, readForm, readParameter, readReason } from '../dashboard/page.ts';
import { dayOrInstant, digits, givenName, reason } from '../parameters.ts';
import { addResource } from '../resource.ts';
import { addRoute, requireItem, requireOne } from '../route.ts';
import { choiceControls, choiceFields, coversBoth, coversOne, readChoice, toReviewRequest } from './review-choice.ts';

const access = allowWhole('viewer');
const auditor = allowWhole('auditor');

export type Campaign = z.infer<typeof campaignItem>;

const shape = campaignItem.shape;

/** The fields that open a campaign, beside those that choose its keys. */
const settingFields = {
  split_by: shape.split_by,
  due_at: dayOrInstant({ isEnd: true }).openapi({
    description: 'When every review must be signed; a date is its end, in UTC',
  }),
  remind_days: z
    .array(z.int().min(1).max(365))
    .max(10)
    .default([7, 1])
    .openapi({ description: 'How many days before the due date reviewers are reminded through the channels' }),
  default_decision: shape.default_decision.default('none'),
  keep_needs_reason: shape.keep_needs_reason.default('always'),
  escalate_to: givenName.optional().openapi({ description: 'Who is notified of reviews that stay overdue' }),
  escalate_after_days: z.int().min(1).max(365).default(3),
};

const newCampaign = z
  .strictObject({ ...choiceFields, ...settingFields })
  .refine(coversOne, coversBoth)
  .openapi('NewCampaign');

/** Adds review campaigns: one review for each organization or owner, with a due date, reminders and a default decision. */
export function addCampaigns(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'campaigns',
    summary: 'Review campaigns with their progress, newest first',
    access,
    item: campaignItem,
    filters: { state: shape.state.optional() },
    list: ({ query }) => campaignList(query),
    page: {
      title: 'Review campaigns',
      fields: { state: 'State' },
      proof: 'campaign',
      columns: columnsFor(campaignItem, {
        title: { label: 'Campaign', cell: ({ id, title }) => link(`/campaigns/${id}`, title) },
        state: 'State',
        due_at: { label: 'Due', cell: ({ due_at: due }) => ago(due) },
        reviews: { label: 'Signed', cell: ({ reviews, signed }) => `${signed} of ${reviews}` },
        keys: { label: 'Decided', cell: ({ keys, undecided }) => `${keys - undecided} of ${countOf(keys, 'key')}` },
        opened_by: 'Opened by',
      }),
      empty: 'There is no campaign yet.',
      below: async ({ principal }) =>
        mayAct(principal, 'auditor')
          ? openForm(await report.suggestions('organization_id', principal.organizations))
          : '',
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/campaigns',
    summary: 'Opens a campaign: a review for each organization or owner of the chosen keys',
    access: auditor,
    body: newCampaign,
    response: campaignItem,
    status: 201,
    handle: async ({ c, body, principal }) => {
      const review = await toReviewRequest(db, body, await c.req.json<z.input<typeof newCampaign>>());
      const { keys: _keys, credentials: _credentials, keep_for_days: _days, ...settings } = body;
      return await show(db, await openCampaign(report, { principal, settings: toSettings(settings), review }));
    },
  });
  addRoute(report, {
    path: '/v1/campaigns/{campaign}',
    summary: 'One campaign and its progress',
    access,
    params: z.object({ campaign: digits }),
    response: campaignItem,
    handle: async ({ params: { campaign } }) => await show(db, campaign),
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/campaigns/{campaign}/cancel',
    summary: 'Cancels a campaign: no reminders, no default decisions. Its reviews stay, and signed ones stay in effect',
    access: auditor,
    params: z.object({ campaign: digits }),
    body: z.strictObject({ reason }).openapi('Cancellation'),
    response: campaignItem,
    handle: async ({ params: { campaign }, body, principal }) => {
      await cancelCampaign(report, { campaign, reason: body.reason, principal });
      return await show(db, campaign);
    },
  });
  campaignPages(report);
}

const show = async (db: Reader, number: string) =>
  await requireOne(db, campaignList({ number }), ['campaign with this number', '/v1/campaigns']);

/** Returns a campaign. Throws a Problem (404) if it does not exist. */
export const findCampaign = async (db: Reader, number: string): Promise<Campaign> =>
  await requireItem(db, campaignList({ number }), ['campaign with this number', '/campaigns']);

type Settings = z.output<z.ZodObject<typeof settingFields>> & { title: string };

const toSettings = ({ remind_days: days, escalate_to: escalateTo, ...others }: Settings) => ({
  ...others,
  remind_days: [...new Set(days)].toSorted((a, b) => b - a),
  escalate_to: escalateTo ?? null,
});

function campaignPages(report: Report): void {
  const { db, page, form } = report;
  form('/campaigns', auditor, async ({ principal }, sent) => {
    const given = readForm(sent, {
      ...settingFields,
      title: givenName,
      remind_days: z.preprocess(toNumbers, settingFields.remind_days),
      escalate_after_days: z.coerce.number().int().min(1).max(365),
    });
    const review = await readChoice(report, sent);
    const settings = toSettings(given);
    return { to: `/campaigns/${await openCampaign(report, { principal, settings, review })}`, flash: 'campaign' };
  });

  page('/campaigns/:campaign', access, async (visit) => {
    const campaign = await findCampaign(db, readParameter(visit.c, 'campaign', digits));
    const reviews = await listPart(visit, report, {
      item: reviewItem,
      filters: {},
      fields: {},
      list: () => reviewList({ campaignId: campaign.id }),
      caption: 'Reviews of the campaign',
      columns: columnsFor(reviewItem, {
        title: { label: 'Review', cell: ({ id, title }) => link(`/reviews/${id}`, title) },
        state: 'State',
        reviewer: 'Reviewer',
        keys: 'Keys',
        undecided: 'Undecided',
        keep: 'Keep',
        revoke: 'Revoke',
        rotate: 'Rotate',
      }),
      empty: 'The campaign has no review.',
    });
    const mayCancel = mayAct(visit.principal, 'auditor') && ['open', 'overdue'].includes(campaign.state);
    return {
      title: campaign.title,
      body: html`${describe(campaign, proofFact(visit, 'campaign', campaign.id))} ${section('Reviews', reviews)} ${mayCancel ? cancelForm(campaign) : ''}`,
    };
  });
  form('/campaigns/:campaign/cancel', auditor, async ({ c, principal }, sent) => {
    const campaign = readParameter(c, 'campaign', digits);
    await cancelCampaign(report, { campaign, principal, reason: readReason(sent) });
    return { to: `/campaigns/${campaign}`, flash: 'canceled' };
  });
}

/** Returns the numbers of a field that lists them. */
const toNumbers = (text: unknown) =>
  String(text)
    .match(/[^\s,]+/g)
    ?.map(Number) ?? [];

const defaults = {
  none: 'stay undecided',
  keep: 'are kept',
  revoke: 'are to be revoked, after a signature',
} as const;

const reasons = {
  always: 'for every key',
  finding: 'for keys with findings',
  flagged: 'for keys that a rule wants to revoke or rotate',
} as const;

const choicesOf = (texts: object) => Object.entries(texts).map(([value, name]) => ({ value, name: String(name) }));

function describe(campaign: Campaign, proof: [string, Part][]): Html {
  const { keys, undecided, reviews, signed, remind_days: days, escalate_to: escalateTo } = campaign;
  return html`${facts([
    ['State', state(campaign.state)],
    ['Due', ago(campaign.due_at)],
    ['Reminders', days.length === 0 ? 'none' : `${days.join(', ')} days before`],
    ['Keys that are undecided then', defaults[campaign.default_decision]],
    ['A reason to keep is required', reasons[campaign.keep_needs_reason]],
    [
      'Escalated to',
      escalateTo === null ? null : `${escalateTo}, ${countOf(campaign.escalate_after_days, 'day')} after the due date`,
    ],
    ['Opened', html`${time(campaign.opened_at)} by ${campaign.opened_by}`],
    campaign.canceled_at !== null && [
      'Canceled',
      html`${time(campaign.canceled_at)} by ${campaign.canceled_by}: ${campaign.canceled_because}`,
    ],
    campaign.by_default > 0 && ['Decided by default', countOf(campaign.by_default, 'key')],
    ...proof,
  ])}
    <p>
      <label for="progress">${keys - undecided} of ${countOf(keys, 'key')} decided, ${signed} of ${countOf(reviews, 'review')} signed.</label>
      <progress id="progress" max="${keys}" value="${keys - undecided}"></progress>
    </p>`;
}

const cancelForm = ({ id }: Campaign): Html =>
  section(
    'Cancel the campaign',
    html`<form class="forms" method="post" action="/campaigns/${id}/cancel">
      <p>No more reminders and default decisions. Signed reviews stay in effect; the others stay, and can still be signed.</p>
      ${reasonField('cancel-reason')}
      <button type="submit">Cancel the campaign</button>
    </form>`,
  );

function openForm(organizations: Suggestion[]): Html {
  return section(
    'Open a campaign',
    html`<form class="forms" method="post" action="/campaigns">
      <p>A campaign opens a review for each organization or owner, all due at the same date. Reminders go through the channels of keywarden.yaml.</p>
      <div class="field"><label for="c-title">Title</label><input id="c-title" name="title" required maxlength="150" placeholder="Second half of 2026" /></div>
      <div class="field"><label for="c-split">One review for each</label><select id="c-split" name="split_by"><option>organization</option><option>owner</option></select></div>
      <div class="field"><label for="c-due">Due</label><input id="c-due" name="due_at" type="date" required /></div>
      <div class="field"><label for="c-remind">Reminders (days before)</label><input id="c-remind" name="remind_days" value="7, 1" pattern="[0-9, ]*" /></div>
      ${selectField({ id: 'c-default', name: 'default_decision', label: 'Keys undecided at the due date' }, choicesOf(defaults))}
      ${selectField({ id: 'c-reason', name: 'keep_needs_reason', label: 'A reason to keep is required' }, choicesOf(reasons))}
      <div class="field"><label for="c-escalate">Escalate to</label><input id="c-escalate" name="escalate_to" maxlength="200" placeholder="security@example.com" /></div>
      <div class="field"><label for="c-after">Escalate after (days)</label><input id="c-after" name="escalate_after_days" type="number" min="1" max="365" value="3" /></div>
      ${choiceControls(organizations)}
      <button type="submit">Open campaign</button>
    </form>`,
  );
}
