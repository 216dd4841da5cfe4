import type { z } from '@hono/zod-openapi';
import { countOf, dayMs } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { LRUCache } from 'lru-cache';
import { allow } from '../access/roles.ts';
import { ago, type Chart, chart, type Html, link, type Part, pauseNotice, section, table, time } from './html.ts';
import { operationsByDay } from './operations-chart.ts';
import type { Report } from './page.ts';

const most = 20;
/** Exemptions that are read to find those that end first. */
const mostSorted = 1000;
/** A chart has no more bars. */
const mostBars = 20;

interface Due {
  what: Part;
  when: Part;
  why: Part;
}

/** Adds the overview page: key counts, ages and idle times, findings, due items, revocations and rotations. */
export function overviewPage({ page, db, limits }: Report): void {
  const reader = limits.sharedReader;
  // Counting a month of a large archive takes most of the page's time.
  const slow = new LRUCache<string, Awaited<ReturnType<typeof readSlow>>, Shown>({
    max: 100,
    ttl: 60_000,
    fetchMethod: async (_key, _stale, { context }) => await readSlow(reader, context),
  });
  page('/', allow('viewer'), async ({ principal: { organizations } }) => {
    const controlPlaneNow = await store.readControlPlaneNow(db);
    const [created, used, rules, revoked, rotated] = await Promise.all([
      store.countKeysByAge(db, 'created', organizations),
      store.countKeysByAge(db, 'used', organizations),
      store.countFindingsByRule(db, organizations),
      store.countByMonth(db, 'revoked', organizations),
      store.countByMonth(db, 'rotated', organizations),
    ]);
    const incidents = await store.countItems(db, store.incidentList({ state: 'open' }, organizations));
    const idle = await store.countItems(db, store.keyList({ state: 'active', idleMs: 90 * dayMs }, { organizations }));
    const { operations, byOrganization, byOwner, trend } = await slow.forceFetch(JSON.stringify(organizations), {
      context: { organizations, controlPlaneNow },
    });
    const keys = sum(created);
    const due = await readDue(db, { organizations, controlPlaneNow });
    return {
      title: 'Overview',
      body: html`
        ${await listedPart(db, { organizations, controlPlaneNow })} ${organizations === null ? pauseNotice(await store.readPause(db)) : ''}
        <ul class="tiles">
          ${tile('live keys', keys, '/keys?state=active')}
          ${tile('idle for over 90 days', idle, '/keys?state=active&idle_for=90d')}
          ${tile('never used', used.find(({ group }) => group === 'never')?.count ?? 0, '/keys?state=active&use=never')}
          ${tile('findings in the newest plan', sum(rules), '/findings')}
          ${tile('open incidents', incidents, '/incidents?state=open')}
        </ul>
        ${section(
          'Due items',
          table({
            caption: 'Due items',
            items: due,
            empty: 'Nothing is due.',
            columns: [
              { label: 'What', is: 'text', cell: ({ what }) => what },
              { label: 'When', cell: ({ when }) => when },
              { label: 'Why', is: 'text', cell: ({ why }) => why },
            ],
          }),
        )}
        <div class="charts">
          ${breakdown('Keys by organization', byOrganization, (id) => `/keys?state=active&organization_id=${encodeURIComponent(id)}`)}
          ${breakdown('Keys by owner', byOwner, (id) => `/keys?state=active&owner=${encodeURIComponent(id)}`)}
        </div>
        <div class="charts">
          ${chart(toChart('Live keys by age', created, 'keys'))}
          ${chart(toChart('Live keys by last use', used, 'keys'))}
          ${chart(trend)}
          ${chart({ ...toChart('Findings by rule in the newest plan', rules.slice(0, mostBars), 'findings'), isHorizontal: true })}
          ${chart({
            title: 'Revocations and rotations by month',
            labels: revoked.map(({ group }) => group),
            series: [
              { name: 'revoked', values: revoked.map(({ count }) => count) },
              { name: 'rotated', values: rotated.map(({ count }) => count) },
            ],
          })}
          ${chart(operations)}
        </div>
      `,
    };
  });
}

/** Returns when keys were last listed, and of how many scopes that is too long ago: the numbers of the page are of these times. */
async function listedPart(db: store.Reader, { organizations, controlPlaneNow }: Shown): Promise<Html> {
  const listedAt = await store.readLastListing(db);
  if (listedAt === null)
    return html`<p class="notice warn">No keys have been listed yet. Start the daemon, or run keywarden sync.</p>`;
  const isOld = Date.parse(controlPlaneNow) - Date.parse(listedAt) > dayMs;
  const gaps = await store.listInventoryGaps(db, { from: controlPlaneNow, to: controlPlaneNow, organizations });
  const address = `/keys?as_of=${encodeURIComponent(controlPlaneNow)}`;
  return html`<p class="${isOld ? 'notice warn' : 'fine'}">Keys were last listed ${ago(listedAt)}, at ${time(listedAt)} by the control plane’s clock.
    ${gaps.length === 0 ? '' : html`Those of ${link(address, countOf(gaps.length, 'scope'))} were not listed completely within a day.`}</p>`;
}

/** What the overview shows: all organizations, or some, at a time of the control plane. */
interface Shown {
  organizations: string[] | null;
  controlPlaneNow: string;
}

/** Returns what the overview counts at most once a minute. */
async function readSlow(reader: store.Reader, { organizations, controlPlaneNow }: Shown) {
  const projects = await store.findProjectNumbers(reader, { organizations });
  return {
    operations: await operationsByDay(reader, projects, Date.parse(controlPlaneNow)),
    byOrganization: await store.breakDownKeys(reader, 'organization', { organizations, limit: 10 }),
    byOwner: await store.breakDownKeys(reader, 'owner', { organizations, limit: 10 }),
    trend: trendChart(await store.readIdleTrend(reader, organizations)),
  };
}

const trendChart = (weeks: store.WeekCount[]): Chart => ({
  title: 'Idle keys by week, as first counted on the day shown',
  labels: weeks.map(({ day }) => day),
  series: [
    { name: 'idle for over 90 days', values: weeks.map(({ idle }) => idle) },
    { name: 'use unknown', values: weeks.map(({ unknown }) => unknown) },
    { name: 'other live keys', values: weeks.map(({ inUse }) => inUse) },
  ],
});

/** Returns the organizations or owners with most idle keys. */
function breakdown(title: string, items: store.Breakdown[], addressOf: (id: string) => string): Html {
  return section(
    title,
    table({
      caption: title,
      items,
      empty: 'No key is live.',
      columns: [
        { label: 'Name', is: 'text', cell: ({ id, name }) => (id === null ? name : link(addressOf(id), name)) },
        { label: 'Keys', is: 'number', cell: ({ keys }) => keys.toLocaleString('en') },
        { label: 'Idle for 90 days', is: 'number', cell: ({ idle }) => idle.toLocaleString('en') },
        { label: 'To revoke', is: 'number', cell: ({ planned }) => planned.toLocaleString('en') },
      ],
    }),
  );
}

const sum = (figures: store.Figure[]) => figures.reduce((total, { count }) => total + count, 0);

function tile(text: string, count: number, href: string): Html {
  return html`<li><a href="${href}"><strong>${count.toLocaleString('en')}</strong> ${text}</a></li>`;
}

function toChart(title: string, figures: store.Figure[], name: string) {
  return {
    title,
    labels: figures.map(({ group }) => group),
    series: [{ name, values: figures.map(({ count }) => count) }],
  };
}

/** Returns what waits for a person or for a time: plans, reviews, notifications, rotations and exemptions. */
async function readDue(db: store.Reader, shown: Shown): Promise<Due[]> {
  return [
    ...(shown.organizations === null ? [...(await readDuePlans(db)), ...(await readDueReviews(db))] : []),
    ...(await readDueKeys(db, shown.organizations)),
    ...(await readDueExemptions(db, shown)),
  ];
}

async function readDuePlans(db: store.Reader): Promise<Due[]> {
  const plans = [
    ...(await store.readItems(db, store.planList({ isNewest: true }), 1)),
    ...(await store.readItems(db, store.planList({ isApproved: true }), most)),
  ];
  const waiting = plans.filter(
    ({ items, rejected, revoked, approvers }) => items > 0 && !rejected && (revoked === 0 || approvers > 0),
  );
  return [...new Map(waiting.map((plan) => [plan.id, plan])).values()].map(
    ({ id, items, approvers, approvers_needed: needed, blocked }) => {
      const approved = `Plan ${id} is approved and ${blocked === null ? 'waits' : 'blocked'}`;
      return {
        what: link(`/plans/${id}`, approvers >= needed ? approved : `Approve or reject plan ${id}`),
        when: 'now',
        why: blocked ?? `${countOf(items, 'key')} to revoke, ${approvers} of ${needed} approved`,
      };
    },
  );
}

const readDueReviews = async (db: store.Reader): Promise<Due[]> =>
  await readFirst(db, store.reviewList({ isDue: true }), {
    toDue: (review) => ({
      what: link(`/reviews/${review.id}`, `Review: ${review.title}`),
      when: review.due_at === null ? 'open' : html`due ${ago(review.due_at)}`,
      why: `${review.undecided} of ${countOf(review.keys, 'key')} undecided`,
    }),
    rest: (more) => ({
      what: link('/reviews?state=open', `${more} more open reviews`),
      when: 'later, or without a date',
      why: '',
    }),
  });

/** Returns the keys whose revocation waits for its notification, then those in rotation. */
async function readDueKeys(db: store.Reader, organizations: string[] | null): Promise<Due[]> {
  const unannounced = store.findingList({ disposition: 'held', holdKind: 'unannounced' }, organizations);
  return [
    ...(await readFirst(db, unannounced, {
      toDue: ({ key, rule, why_held: why }) => ({
        what: html`Revoke ${link(`/keys/${key.number}`, key.name)} by ${rule}`,
        when: 'after its notification',
        why,
      }),
      rest: (more) => ({
        what: link('/findings?disposition=held', `${more} more findings`),
        when: 'after their notifications',
        why: '',
      }),
    })),
    ...(await readFirst(db, store.rotationList({ open: true }, organizations), {
      toDue: ({ key, state, since, why }) => ({
        what: html`Rotate ${link(`/keys/${key.number}`, key.name)}`,
        when: html`${state} since ${ago(since)}`,
        why,
      }),
      rest: (more) => ({ what: link('/rotations?open=true', `${more} more open rotations`), when: '', why: '' }),
    })),
  ];
}

/** Returns the first items of a list, and in a row of its own how many more there are. */
async function readFirst<S extends z.ZodObject>(
  db: store.Reader,
  list: store.List<S>,
  { toDue, rest }: { toDue: (item: z.output<S>) => Due; rest: (more: number) => Due },
): Promise<Due[]> {
  const items = await store.readItems(db, list, most);
  const more = items.length < most ? 0 : (await store.countItems(db, list)) - most;
  return [...items.map(toDue), ...(more > 0 ? [rest(more)] : [])];
}

/** Returns the exemptions that end first, of those that end within 30 days. */
async function readDueExemptions(db: store.Reader, { organizations, controlPlaneNow }: Shown): Promise<Due[]> {
  const lapsesBefore = new Date(Date.parse(controlPlaneNow) + 30 * dayMs).toISOString();
  const ending = store.exemptionList({ state: 'in_force', lapsesBefore }, organizations);
  const exemptions = await store.readItems(db, ending, mostSorted);
  return exemptions
    .toSorted((a, b) => (a.until < b.until ? -1 : 1))
    .slice(0, 5)
    .map(({ id, until, reason }) => ({
      what: link('/exemptions?state=in_force', `Exemption ${id} expires`),
      when: ago(until),
      why: reason,
    }));
}
