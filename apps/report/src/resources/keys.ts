import { z } from '@hono/zod-openapi';
import { countOf } from '@keywarden/core/values';
import { showsExpiry } from '@keywarden/core/wire';
import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow } from '../access/roles.ts';
import { columnsFor, linkTo, organizationLink } from '../dashboard/columns.ts';
import { ago, type Column, lastUse, link, type Part } from '../dashboard/html.ts';
import type { Report, Visit } from '../dashboard/page.ts';
import { digits, type ListQuery } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addResource } from '../resource.ts';
import { addList, addRoute, type Missing, requireOne } from '../route.ts';
import { credentialFilters, keyFilters, requirePast, toKeyFilter } from './key-filters.ts';

type Key = z.infer<typeof store.keyItem>;

const access = allow('viewer');
const sorts = ['number', 'name', 'created_at', 'last_used_at'] as const;

export const keyColumns = columnsFor(store.keyItem, {
  name: {
    label: 'Name',
    sort: 'name',
    cell: ({ number, name, kind, id }) => html`${link(`/keys/${number}`, name)}<br /><small>${kind}, id ${id}</small>`,
  },
  state: 'State',
  last_used_at: { label: 'Last used', sort: 'last_used_at', cell: lastUse },
  created_at: { label: 'Created', sort: 'created_at', cell: ({ created_at: at }) => ago(at) },
  owner: { label: 'Owner', cell: ownerCell },
  organization_id: { label: 'Organization, project', cell: organizationCell },
});

const rulesColumn: Column<z.infer<typeof store.flaggedKeyItem>> = {
  label: 'Rules',
  cell: ({ id, rules }) =>
    rules.map((rule) => {
      const findings = new URLSearchParams({ key_id: id, rule });
      return html`<div>${link(`/findings?${findings.toString()}`, rule)}</div>`;
    }),
};

/** Returns the organization by its name, and the project. */
export function organizationCell(
  key: Pick<Key, 'organization_id' | 'project_id'> & { organization_name?: string | null | undefined },
): Part {
  const { organization_id: organization, organization_name: name, project_id: project } = key;
  return html`${organizationLink(organization, name)}${project === null ? '' : html`<br />${linkTo('project_id', project)}`}`;
}

/** Returns the owner. An owner of whom only the id is known is shown by the name that the control plane gives for the creator. */
export function ownerCell({ owner, creator }: Pick<Key, 'owner' | 'creator'>): Part {
  const name = owner === creator.id ? (creator.name ?? owner) : owner;
  return linkTo('owner', owner, name);
}

/** Returns when a credential expires. Of a kind whose expiry is not reported it is not known whether it does. */
export function expiryCell({
  kind,
  expires_at: at,
}: Pick<z.infer<typeof store.credentialItem>, 'kind' | 'expires_at'>): Part {
  if (at !== null) return ago(at);
  return showsExpiry(kind) ? 'never' : 'not reported';
}

const credentialColumns = columnsFor(store.credentialItem, {
  name: { label: 'Name', sort: 'name', cell: ({ number, name }) => link(`/keys/${number}`, name) },
  kind: 'Kind',
  state: 'State',
  created_at: {
    label: 'Created',
    sort: 'created_at',
    cell: ({ created_at: at }) => (at === null ? 'unknown' : ago(at)),
  },
  last_used_at: {
    label: 'Last used',
    sort: 'last_used_at',
    cell: (credential) => (credential.kind === 'branch_credential' ? lastUse(credential) : 'not reported'),
  },
  expires_at: { label: 'Expires', cell: expiryCell },
  project_id: {
    label: 'Project, branch',
    cell: ({ project_id: project, branch_id: branch }) =>
      html`${project === null ? '' : linkTo('project_id', project)}
      ${branch === null ? '' : html`<br />${branch}`}`,
  },
});

/** Adds keys and other credentials, as they are now and as they were at a past time. */
export function addKeys(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'keys',
    summary: 'All API keys ever observed; with as_of, their states at a past time, and the gaps in that inventory',
    access,
    item: store.flaggedKeyItem,
    filters: keyFilters,
    sorts,
    check: async ({ query }) => await requirePast(db, query.asOf),
    list: ({ query, ...shown }) => store.flaggedKeyList(toKeyFilter(query), shown),
    more: gapsThen('keys'),
    page: {
      title: 'Keys',
      fields: {
        q: 'Name contains',
        kind: 'Kind',
        state: 'State',
        organization_id: 'Organization',
        owner: 'Owner',
        rule: 'Rule',
        idle_for: 'Idle for over',
        use: 'Use',
        older_than: { label: 'Older than', placeholder: '365d' },
        as_of: 'As of',
      },
      columns: [...keyColumns, rulesColumn],
      empty: 'There is no key here yet. The daemon lists keys, and so does keywarden sync.',
      above: async (visit) => (visit.query.as_of === undefined ? '' : await gapPart(report, visit, 'keys')),
    },
    file: {
      summary: 'Keys as a file; with as_of, their states at a past time',
      trailer: async (request) => ({
        ...(await gapsAt(request, 'keys')),
        blind_spots: await store.listBlindSpots(request.db, request.organizations),
      }),
    },
  });
  addResource(report, {
    name: 'credentials',
    summary:
      'All credentials ever observed that are not API keys; with as_of, those that existed at a past time, and the gaps in that inventory',
    access,
    item: store.credentialItem,
    filters: credentialFilters,
    sorts,
    check: async ({ query }) => await requirePast(db, query.asOf),
    list: ({ query, ...shown }) => store.credentialList(toKeyFilter(query), shown),
    more: gapsThen('credentials'),
    page: {
      title: 'Other credentials',
      fields: {
        q: 'Name contains',
        kind: 'Kind',
        state: 'State',
        organization_id: 'Organization',
        project_id: 'Project',
        holder: 'Holder',
        idle_for: 'Idle for over',
        older_than: { label: 'Older than', placeholder: '365d' },
        expires_within: { label: 'Expires within', placeholder: '14d' },
        as_of: 'As of',
      },
      columns: credentialColumns,
      empty:
        'There is no credential here yet. The daemon lists them once a day, and so does keywarden sync credentials.',
      above: async (visit) => await gapPart(report, visit, 'credentials'),
    },
    file: {
      summary: 'Credentials that are not API keys as a file; with as_of, those that existed at a past time',
      trailer: async (request) => await gapsAt(request, 'credentials'),
    },
  });
  addOne(report, 'keys');
  addOne(report, 'credentials');
}

/** Adds the routes of one key or credential: its record, observations and uses. */
function addOne(report: Report, of: store.InventoryKind): void {
  const { db } = report;
  const one = of === 'keys' ? 'key' : 'credential';
  const missing: Missing = [`${one} with this number`, `/v1/${of}`];
  const uses = `The observed use of a ${one}, newest first, one item per hour and address`;
  const params = z.object({ [one]: digits.openapi({ description: `The ${one}'s number in Keywarden` }) });
  const path = `/v1/${of}/{${one}}`;
  const item = of === 'keys' ? store.keyItem : store.credentialItem;
  addRoute(report, {
    path,
    summary: `One ${one}`,
    access,
    params,
    response: item,
    handle: async ({ params: { [one]: number }, organizations }) =>
      await requireOne(db, store.inventoryList(of, { number }, { organizations }), missing),
  });
  const numberOf = async (given: Record<string, string>, organizations: string[] | null) => {
    const number = given[one] ?? '';
    if (await store.seesKey(db, number, { organizations, of })) return number;
    throw notFound(...missing);
  };
  addList(report, {
    path: `${path}/observations`,
    summary: `A ${one}'s history: every version of its record, and when it was missing, gone or back`,
    access,
    params,
    item: store.keyObservation,
    list: async ({ params: given, organizations }) => store.keyObservationList(await numberOf(given, organizations)),
  });
  addList(report, {
    path: `${path}/uses`,
    summary: of === 'keys' ? uses : `${uses}; the control plane reports it for branch credentials only`,
    access,
    params,
    item: store.keyUse,
    list: async ({ params: given, organizations }) => store.keyUseList(await numberOf(given, organizations)),
  });
}

type AsOf = Pick<ListQuery<z.ZodRawShape>, 'db' | 'organizations'> & { query: { asOf?: string | undefined } };

/** Returns the gaps of an inventory at a time; without `asOf`, now. */
async function gapsAt({ db, query, organizations }: AsOf, of: store.InventoryKind) {
  const at = query.asOf ?? (await store.readControlPlaneNow(db));
  return { as_of: at, holes: await store.listInventoryGaps(db, { from: at, to: at, organizations, of }) };
}

/** The gaps as further fields of a list, if the query has `as_of`. */
function gapsThen(of: store.InventoryKind) {
  return {
    shape: { as_of: z.string().optional(), holes: z.array(store.inventoryGap).optional() },
    read: async (request: AsOf) => (request.query.asOf === undefined ? undefined : await gapsAt(request, of)),
  };
}

async function gapPart({ db }: Report, { query, principal }: Visit, of: store.InventoryKind): Promise<Part> {
  if (query.as_of !== undefined && Number.isNaN(Date.parse(query.as_of))) return '';
  const request = { db, query: { asOf: query.as_of }, organizations: principal.organizations };
  const { as_of: at, holes } = await gapsAt(request, of);
  if (holes.length === 0)
    return html`<p class="notice">At ${at}, every scope that you can see had a complete listing within ${of === 'keys' ? 'a day' : 'two days'}.</p>`;
  return html`<details class="notice warn">
    <summary>At ${at}, the inventory of ${of} in ${countOf(holes.length, 'scope')} is incomplete</summary>
    <ul>
      ${holes.map((hole) => html`<li>${hole.scope}: no complete listing from ${hole.from ?? 'ever'} to ${hole.to ?? 'now'}</li>`)}
    </ul>
  </details>`;
}
