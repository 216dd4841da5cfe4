import { z } from '@hono/zod-openapi';
import { keyKinds } from '@keywarden/core/wire';
import type { Reader, Suggestion } from '@keywarden/db/report';
import { html } from 'hono/html';
import type { ReviewRequest } from '../actions/reviews.ts';
import { type Html, section, selectField } from '../dashboard/html.ts';
import { type Report, readField, readForm } from '../dashboard/page.ts';
import { camelled, givenName } from '../parameters.ts';
import { credentialFilters, keyFilters, requirePast, toKeyFilter } from './key-filters.ts';

/** The fields of a body that opens a review or a campaign. */
export const choiceFields = {
  title: givenName,
  keys: z
    .strictObject(keyFilters)
    .optional()
    .openapi({ description: 'Which keys to review; default: all existing keys' }),
  credentials: z
    .strictObject(credentialFilters)
    .optional()
    .openapi({ description: 'Which credentials that are not API keys to review, instead of keys' }),
  keep_for_days: z.int().min(0).max(1000).default(180),
};

const choice = z.object(choiceFields);
type Choice = z.output<typeof choice>;

/** Whether a body chooses keys or credentials, and not both. */
export const coversOne = ({ keys, credentials }: Pick<Choice, 'keys' | 'credentials'>) =>
  keys === undefined || credentials === undefined;

export const coversBoth = { error: 'a review covers keys or credentials, not both; open one of each' };

/** Returns the keys that a body chooses for a review. `given` is the body as sent, which readers of the review see. */
export async function toReviewRequest(
  db: Reader,
  { keys = {}, credentials, keep_for_days: keepForDays }: Choice,
  given: z.input<typeof choice>,
): Promise<ReviewRequest> {
  const chosen = credentials ?? keys;
  await requirePast(db, chosen.as_of);
  return {
    keepForDays,
    of: credentials === undefined ? 'keys' : 'credentials',
    // A key that one listing lacked may still exist, so it is reviewed too.
    filter: { ...toKeyFilter(camelled(chosen)), isThere: chosen.state === undefined },
    request: given.credentials === undefined ? (given.keys ?? {}) : { credentials: given.credentials },
  };
}

/** Returns the keys that a form chooses for a review, and for how long keys that are kept are exempt. */
export async function readChoice({ db }: Report, sent: FormData): Promise<ReviewRequest> {
  const { organization_id, kind, idle_for, older_than, as_of } = keyFilters;
  const filters = { organization_id, kind, idle_for, older_than, as_of };
  const keys = readForm(sent, filters);
  const filled = Object.keys(filters).map((name) => [name, readField(sent, name)] as const);
  const request = Object.fromEntries(filled.filter(([, value]) => value !== ''));
  await requirePast(db, keys.as_of);
  const { keep_for_days: keepForDays } = readForm(sent, {
    keep_for_days: z
      .string()
      .regex(/^\d+$/, 'give a number of days; 0 exempts no key')
      .transform(Number)
      .pipe(z.number().max(1000)),
  });
  return { filter: { ...toKeyFilter(camelled(keys)), isThere: true }, request, keepForDays };
}

/** Returns the fields of a form that choose the keys of a review. */
export function choiceControls(organizations: Suggestion[]): Html {
  const kinds = keyKinds.map((kind) => ({ value: kind, name: kind }));
  return html`${selectField({ id: 'r-organization', name: 'organization_id', label: 'Organization', none: 'all' }, organizations)}
    ${selectField({ id: 'r-kind', name: 'kind', label: 'Kind', none: 'all' }, kinds)}
    <div class="field"><label for="r-idle">Idle for over</label><input id="r-idle" name="idle_for" placeholder="90d" /></div>
    <div class="field"><label for="r-older">Older than</label><input id="r-older" name="older_than" placeholder="365d" /></div>
    <div class="field"><label for="r-as-of">As of</label><input id="r-as-of" name="as_of" placeholder="now" /></div>
    <div class="field"><label for="r-keep">Exempt kept keys for (days)</label><input id="r-keep" name="keep_for_days" type="number" min="0" max="1000" value="180" /></div>`;
}

/** Returns the form that opens a review. */
export function openForm(organizations: Suggestion[]): Html {
  return section(
    'Open a review',
    html`<form class="forms" method="post" action="/reviews">
      <p>A review freezes the existing keys, with the findings of the newest plan. Leave the filters empty to review all keys.</p>
      <div class="field"><label for="r-title">Title</label><input id="r-title" name="title" required maxlength="200" placeholder="Second half of 2026" /></div>
      ${choiceControls(organizations)}
      <button type="submit">Open review</button>
    </form>`,
  );
}
