import { z } from '@hono/zod-openapi';
import { countOf, sha256 } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { html, raw } from 'hono/html';
import { allowWhole, mayAct } from '../access/roles.ts';
import { makePart } from '../actions/plans.ts';
import { decideReview, openReview, signReview } from '../actions/reviews.ts';
import { proofFact } from '../dashboard/columns.ts';
import {
  ago,
  type Column,
  facts,
  type Html,
  lastUse,
  link,
  type Part,
  section,
  state,
  time,
} from '../dashboard/html.ts';
import { confirmed, listPart, type Report, readForm, readParameter, type Visit } from '../dashboard/page.ts';
import { digits, givenName, reason } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { requireItem } from '../route.ts';
import { type Campaign, findCampaign } from './campaigns.ts';
import { organizationCell, ownerCell } from './keys.ts';
import { readChoice } from './review-choice.ts';

const auditor = allowWhole('auditor');
export const documentHash = z.string().regex(/^[\da-f]{64}$/, 'is not the SHA-256 of the document');
export const decisions = store.reviewDecision.shape.decision;
export const decisionFilter = { decision: z.enum([...decisions.options, 'undecided']).optional() };

type Review = z.infer<typeof store.reviewItem>;

/** Adds the pages of access reviews: to open one, to decide about its keys and to sign it. */
export function reviewPages(report: Report): void {
  const { db, page, form } = report;
  form('/reviews', auditor, async ({ principal }, sent) => {
    const { title } = readForm(sent, { title: givenName });
    const review = await readChoice(report, sent);
    return { to: `/reviews/${await openReview(report, { principal, title, review })}`, flash: 'opened' };
  });

  const idOf = ({ c }: Visit) => readParameter(c, 'review', digits);
  page('/reviews/:review', allowWhole('viewer'), async (visit) => {
    const number = idOf(visit);
    const read = async () =>
      await requireItem(db, store.reviewList({ number }), ['review with this number', '/reviews']);
    const maySign = ({ state, undecided }: Review) =>
      state === 'open' && undecided === 0 && mayAct(visit.principal, 'operator');
    // The form signs what the page shows, so the page is read after the document that it names.
    const seen = maySign(await read()) ? sha256(await store.readReviewDocument(report.sql, number)) : '';
    const review = await read();
    const mayDecide = review.state === 'open' && mayAct(visit.principal, 'auditor');
    const keys = await keyPart(visit, report, { review, mayDecide });
    const campaign = review.campaign_id === null ? undefined : await findCampaign(db, review.campaign_id);
    return {
      title: review.title,
      body: html`${describe(review, proofFact(visit, 'review', review.id))} ${section('Keys', mayDecide ? decisionForm(review, { keys, campaign }) : keys)}
      ${review.state === 'open' && mayAct(visit.principal, 'operator') ? signForm(review, seen) : ''}
      ${review.state === 'signed' && review.revoke > 0 && mayAct(visit.principal, 'operator') ? await planForm(report, review) : ''}`,
    };
  });

  form('/reviews/:review/decisions', auditor, async (visit, sent) => {
    const review = idOf(visit);
    const given = readForm(sent, {
      key: z.array(digits).min(1, 'select at least one key').max(1000),
      decision: decisions,
      reason: reason.optional(),
    });
    const request = { keys: given.key, decision: given.decision, reason: given.reason ?? null };
    await decideReview(report, { review, ...request, principal: visit.principal });
    return { to: `/reviews/${review}?decision=undecided`, flash: 'decided' };
  });
  form('/reviews/:review/plan', allowWhole('operator'), async (visit) => {
    const plan = await newestPlan(report);
    if (plan === undefined) throw notFound('plan', '/plans');
    const filter = { reviewId: idOf(visit) };
    return {
      to: `/plans/${await makePart(report, { plan: plan.id, filter, principal: visit.principal })}`,
      flash: 'made',
    };
  });
  form('/reviews/:review/signature', allowWhole('operator'), async (visit, sent) => {
    const review = idOf(visit);
    const { sha256: seen } = readForm(sent, { sha256: documentHash, sure: confirmed });
    await signReview(report, { principal: visit.principal, review, seen });
    return { to: `/reviews/${review}`, flash: 'signed' };
  });
}

const newestPlan = async ({ db }: Report) => (await store.readItems(db, store.planList({ isNewest: true }), 1))[0];

/** Returns what follows from a signed review: the part of the newest plan that revokes what the review decided. */
async function planForm(report: Report, { id, revoke }: Review): Promise<Html> {
  const plan = await newestPlan(report);
  const keys = plan === undefined ? [] : await store.choosePart(report.db, plan.id, { reviewId: id });
  const state = await store.readEnforcementState(report.db);
  const next = state?.nextAt == null ? '' : html`, ${ago(state.nextAt)}`;
  const gone = await store.countRevokedKeys(report.db, id);
  const body =
    keys.length > 0
      ? html`<form class="forms" method="post" action="/reviews/${id}/plan">
          <p>The newest plan revokes ${countOf(keys.length, 'key')} that this review decided to revoke. Approve them as a plan of their own.</p>
          <button type="submit">Make the plan of this review</button>
        </form>`
      : gone === revoke
        ? html`<p class="empty">Each key that it decided to revoke is gone: ${gone} of ${revoke}.</p>`
        : html`<p class="empty">Gone: ${gone} of ${countOf(revoke, 'key')}. The newest plan revokes no other key of this review. The daemon makes the next plan in its next pass${next}.</p>`;
  return section('Carry out the review', body);
}

function describe(review: Review, proof: [string, Part][]): Html {
  const decided = review.keys - review.undecided;
  return html`${facts([
    ['State', state(review.state)],
    ['Keys as of', time(review.as_of)],
    ['Opened', html`${time(review.opened_at)} by ${review.opened_by}`],
    ['Findings from', review.plan_id === null ? null : link(`/plans/${review.plan_id}`, review.plan_id)],
    [
      'Filter',
      Object.entries(review.filter)
        .flatMap(([name, value]) =>
          typeof value === 'object' && value !== null ? [name, ...Object.entries(value)] : [[name, value]],
        )
        .map((each) => (Array.isArray(each) ? each.join(': ') : each))
        .join(', ') || null,
    ],
    review.campaign_id !== null && [
      'Campaign',
      link(`/campaigns/${review.campaign_id}`, `campaign ${review.campaign_id}`),
    ],
    review.campaign_id !== null && ['Reviewer', review.reviewer],
    review.due_at !== null && ['Due', ago(review.due_at)],
    ['Signed', review.signed_at === null ? 'not yet' : html`${time(review.signed_at)} by ${review.signed_by}`],
    review.sha256 !== null && ['SHA-256 of its document', html`<code>${review.sha256}</code>`],
    ...proof,
  ])}
    ${review.intact === false ? html`<p class="notice bad" role="alert">The content of this review differs from what was signed. It decides about no key any more. Exemptions and rotations that its signature began stay.</p>` : ''}
    <p>
      <label for="progress">${decided} of ${review.keys} decided: ${review.keep} keep, ${review.revoke} revoke, ${review.rotate} rotate.</label>
      <progress id="progress" max="${review.keys}" value="${decided}"></progress>
    </p>
    ${review.holes.length === 0 ? '' : html`<p class="notice warn">The inventory of ${countOf(review.holes.length, 'scope')} was incomplete then.</p>`}`;
}

type ReviewedKey = z.infer<typeof store.reviewedKeyInContext>;

function reachInWords({ reach, projects }: ReviewedKey['context']): string {
  const count = projects === null ? 'an unknown number of projects' : countOf(projects, 'known project');
  return reach === 'project' ? 'reaches 1 project' : `reaches ${count}${reach === 'account' ? ' of its user' : ''}`;
}

/** Returns a small chart of the hours of the day in which a key is used; nothing for a key without observed use. */
function hoursOf({ use_by_hour: hours }: ReviewedKey['context']): Part {
  const most = Math.max(...hours);
  if (most === 0) return '';
  const busiest = `most often at ${String(hours.indexOf(most)).padStart(2, '0')}:00`;
  const bars = hours.map((count, hour) => {
    const height = Math.ceil((count / most) * 14);
    return html`<rect x="${hour * 4}" y="${15 - Math.max(1, height)}" width="3" height="${Math.max(1, height)}" class="${count === 0 ? 'zero' : 'some'}" />`;
  });
  return html`<br /><svg class="hours" viewBox="0 0 96 15" width="96" height="15" role="img" aria-label="Uses by hour of the day in UTC, ${busiest}"><title>Uses by hour of the day in UTC, ${busiest}</title>${bars}</svg>`;
}

const markColumn: Column<ReviewedKey> = {
  label: 'Select',
  is: 'mark',
  cell: ({ key, findings }) =>
    html`<input type="checkbox" name="key" value="${key.number}" data-mark="${findings.length > 0 ? 'finding' : ''}" aria-label="Select ${key.name}" />`,
};

async function keyPart(
  visit: Visit,
  report: Report,
  { review, mayDecide }: { review: Review; mayDecide: boolean },
): Promise<Html> {
  return await listPart(visit, report, {
    item: store.reviewedKeyInContext,
    filters: decisionFilter,
    // HTML forbids nested forms, so the links above the table filter instead.
    fields: {},
    list: ({ query }) => store.reviewItemsInContext({ review: review.id, ...query }),
    caption: 'Keys of the review',
    columns: [
      ...(mayDecide ? [markColumn] : []),
      {
        label: 'Key',
        cell: ({ key }) =>
          html`${link(`/keys/${key.number}`, key.name)}<br /><small>${key.kind.replaceAll('_', ' ')}</small>`,
      },
      {
        label: 'Organization, project',
        cell: ({ key, context }) => html`${organizationCell(key)}<br /><small>${reachInWords(context)}</small>`,
      },
      { label: 'Owner', cell: ({ key }) => ownerCell(key) },
      {
        label: 'Last used, created',
        cell: ({ key: { use, last_used_at: at, created_at: created }, context }) =>
          html`${lastUse({ use: use ?? 'unknown', last_used_at: at })}<br /><small>created ${created === null ? 'unknown' : ago(created)}</small>${hoursOf(context)}`,
      },
      {
        label: 'Findings',
        is: 'text',
        cell: ({ findings }) => findings.map(({ rule, reason: why }) => `${rule}: ${why}`).join('; '),
      },
      {
        label: 'Decision',
        cell: ({ decision, reason: why, decided_by: by, context: { last_decision: last } }) =>
          html`${decision === null ? '' : html`<strong>${decision}</strong><br /><small>${by}: ${why}</small>`}
            ${last === null ? '' : html`<br /><small>before: ${link(`/reviews/${last.review_id}`, last.decision)}, ${ago(last.signed_at)}</small>`}`,
      },
    ],
    empty: visit.query.decision === undefined ? 'The review has no key.' : 'No key has this decision.',
  });
}

/** Which keys can be kept without a reason, in words. */
const withoutReason = { always: null, finding: 'keys without findings', flagged: 'keys that no rule flags' } as const;

function decisionForm({ id }: Review, { keys, campaign }: { keys: Html; campaign: Campaign | undefined }): Html {
  const free = withoutReason[campaign?.keep_needs_reason ?? 'always'];
  return html`<p class="tabs">
      Show: <a href="/reviews/${id}?decision=undecided">undecided</a> <a href="/reviews/${id}">all</a>
      <a href="/reviews/${id}?decision=keep">keep</a> <a href="/reviews/${id}?decision=revoke">revoke</a>
      <a href="/reviews/${id}?decision=rotate">rotate</a>
    </p>
    <form method="post" action="/reviews/${id}/decisions">
      ${keys}
      <fieldset class="decide">
        <legend>Selected keys</legend>
        <label class="check"><input type="checkbox" data-mark-all /> Select all keys on this page</label>
        <label class="check"><input type="checkbox" data-mark-all="finding" /> Select those with findings</label>
        <div class="radios">
          ${decisions.options.map(
            (each) =>
              html`<label class="check"><input type="radio" name="decision" value="${each}" required /> ${each}</label>`,
          )}
        </div>
        <div class="field"><label for="decide-reason">Reason${free === null ? '' : html` <small>(optional to keep ${free})</small>`}</label><input id="decide-reason" name="reason" ${free === null ? raw('required') : ''} maxlength="1000" /></div>
        <button type="submit">Decide</button>
      </fieldset>
    </form>`;
}

function signForm({ id, undecided, keep, rotate, revoke }: Review, seen: string): Html {
  const body =
    undecided > 0
      ? html`<p class="empty">Decide about every key first; undecided: ${undecided}.</p>`
      : seen === ''
        ? html`<p class="empty">The last decision was made just now: load the page again.</p>`
        : html`<form method="post" action="/reviews/${id}/signature" autocomplete="off">
      <input type="hidden" name="sha256" value="${seen}" />
      <p>A signed review cannot change, and its decisions take effect. Keys that are kept against a rule are exempt from it for a time.
        Rotations are requested. Keys to revoke enter the next plan.</p>
      <p><label class="check"><input type="checkbox" name="sure" required /> ${keep} to keep, ${rotate} to rotate, ${revoke} to revoke</label></p>
      <button class="danger" type="submit">Sign the review</button>
    </form>`;
  return section('Sign the review', body);
}
