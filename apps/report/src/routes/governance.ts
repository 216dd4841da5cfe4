import type { OpenAPIHono } from '@hono/zod-openapi';
import { findingList, incidentList, revocationList } from '@keywarden/db/report';
import type { Dependencies, Env } from '../environment.ts';
import {
  findingFilters,
  incidentFilters,
  revocationFilters,
  toFindingFilter,
  toIncidentFilter,
  toRevocationFilter,
} from '../filters.ts';
import { addList } from '../route.ts';
import { findingItem, incidentItem, revocationItem } from '../shapes/governance.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;

/** What the policy found, and what was done. */
export function governanceRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  addList(
    app,
    db,
    {
      path: '/v1/findings',
      summary: 'Rules that hold for keys, with their evidence; of the newest plan unless another is named',
      access,
      filters: findingFilters,
      item: findingItem,
    },
    ({ query, principal: { organizations } }) => ({ list: findingList(toFindingFilter(query), organizations) }),
  );
  addList(
    app,
    db,
    {
      path: '/v1/revocations',
      summary: 'What was revoked, or tried to be, newest first: when, why, by whose word, and what became of it',
      access,
      filters: revocationFilters,
      item: revocationItem,
    },
    ({ query, principal: { organizations } }) => ({ list: revocationList(toRevocationFilter(query), organizations) }),
  );
  addList(
    app,
    db,
    {
      path: '/v1/incidents',
      summary: 'What a person has to look at, or had, newest first',
      access,
      filters: incidentFilters,
      item: incidentItem,
    },
    ({ query, principal: { organizations } }) => ({ list: incidentList(toIncidentFilter(query), organizations) }),
  );
}
