import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Env, Services } from '../environment.ts';
import { archivePages } from './archive.ts';
import { governancePages } from './governance.ts';
import { keyPages } from './keys.ts';
import { overviewPage } from './overview.ts';
import { makePages } from './page.ts';
import { planPages } from './plans.ts';
import { proofPages } from './proof.ts';
import { reviewPages } from './reviews.ts';
import { signInPages } from './sign-in.ts';

/** The dashboard at /: pages made here, without a build step, over the same lists and actions as the API. */
export function dashboardRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const pages = makePages(app, services);
  signInPages(app, services);
  overviewPage(pages, services);
  keyPages(pages, services);
  governancePages(pages, services);
  planPages(pages, services);
  reviewPages(pages, services);
  archivePages(pages, services);
  proofPages(pages, services);
}
