import { z } from '@hono/zod-openapi';
import { tokenReference } from '@keywarden/db/report';
import { allow } from '../access/roles.ts';
import type { Report } from '../dashboard/page.ts';
import { addResource } from '../resource.ts';
import { addRoute } from '../route.ts';
import { accessLog } from './access-log.ts';
import { addCampaigns } from './campaigns.ts';
import { connections } from './connections.ts';
import { addCoverage } from './coverage.ts';
import { addEvidence } from './evidence.ts';
import { addExemptions } from './exemptions.ts';
import { findings } from './findings.ts';
import { incidents } from './incidents.ts';
import { keyPage } from './key-page.ts';
import { addKeys } from './keys.ts';
import { addLedger } from './ledger.ts';
import { addOperations } from './operations.ts';
import { addPlans } from './plans.ts';
import { addProjects } from './projects.ts';
import { addReviews } from './reviews.ts';
import { revocations } from './revocations.ts';
import { addRotations } from './rotations.ts';
import { runs } from './runs.ts';
import { addSessions } from './sessions.ts';

/** Adds all resources of the report, as routes, pages and files. */
export function addResources(report: Report): void {
  addKeys(report);
  keyPage(report);
  addResource(report, findings);
  addResource(report, revocations);
  addResource(report, incidents);
  addPlans(report);
  addExemptions(report);
  addRotations(report);
  addReviews(report);
  addCampaigns(report);
  addOperations(report);
  addProjects(report);
  addCoverage(report);
  addResource(report, runs);
  addResource(report, connections);
  addResource(report, accessLog);
  addSessions(report);
  addEvidence(report);
  addLedger(report);
  addRoute(report, {
    path: '/v1/me',
    summary: 'The token of this request, its role and its organizations',
    access: allow('viewer'),
    response: z
      .strictObject({
        ...tokenReference.shape,
        organizations: z.array(z.string()).nullable().openapi({ description: 'null: all' }),
      })
      .openapi('Me'),
    handle: ({ principal: { token: id, name, role, organizations } }) => ({ id, name, role, organizations }),
  });
}
