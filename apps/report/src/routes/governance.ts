import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { findPlan, listFindings, listPlans, listRuns } from '@keywarden/db/read';
import { requireAllOrganizations } from '../authenticate.ts';
import type { Dependencies, Env } from '../environment.ts';
import { listOf, nextCursor, openCursor, pagingQuery } from '../paging.ts';
import { Problem } from '../problem.ts';
import { readRoute } from '../route.ts';

const dispositions = z.enum(['planned', 'held', 'reported']);

const findingItem = z
  .object({
    plan_id: z.string(),
    rule: z.string(),
    action: z.enum(['report', 'notify', 'rotate', 'revoke']),
    disposition: dispositions,
    why_held: z.string().nullable(),
    hold_kind: z.string().nullable(),
    limit: z.string(),
    reason: z.string(),
    evidence: z.record(z.string(), z.unknown()),
    key: z.object({
      scope: z.string(),
      id: z.string(),
      kind: z.string(),
      name: z.string(),
      organization_id: z.string().nullable(),
    }),
  })
  .openapi('Finding');

const findingsRoute = readRoute({
  path: '/v1/findings',
  summary: 'Rules that hold for keys, with their evidence; of the newest plan unless another is named',
  query: z.strictObject({
    plan_id: z.string().optional(),
    rule: z.string().optional(),
    disposition: dispositions.optional(),
    key_id: z
      .string()
      .regex(/^\d{1,18}$/)
      .optional(),
    ...pagingQuery,
  }),
  response: listOf(findingItem),
});

const planItem = z
  .object({
    id: z.string(),
    sha256: z.string(),
    created_at: z.string(),
    items: z.int(),
    held: z.int(),
    reported: z.int(),
    approvals: z.int(),
    revoked: z.int().openapi({ description: 'Keys that were revoked under this plan' }),
  })
  .openapi('Plan');

const plansRoute = readRoute({
  path: '/v1/plans',
  summary: 'Plans, newest first',
  query: z.strictObject(pagingQuery),
  response: listOf(planItem),
});

const planRoute = readRoute({
  path: '/v1/plans/{plan_id}',
  summary: 'One plan with the document that its hash is of',
  query: z.strictObject({}),
  response: planItem.extend({ document: z.record(z.string(), z.unknown()) }),
});

const runItem = z
  .object({
    id: z.string(),
    kind: z.enum(['keys', 'operations']),
    connection: z.string(),
    status: z.enum(['running', 'finished', 'failed', 'interrupted']),
    started_at: z.string(),
    finished_at: z.string().nullable(),
    counts: z.record(z.string(), z.number()),
    error: z.object({ type: z.string(), code: z.string(), message: z.string().optional() }).nullable(),
  })
  .openapi('Run');

const runsRoute = readRoute({
  path: '/v1/runs',
  summary: 'Sync runs, newest first',
  query: z.strictObject({ kind: z.enum(['keys', 'operations']).optional(), ...pagingQuery }),
  response: listOf(runItem),
});

export function governanceRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  app.openapi(findingsRoute, async (c) => {
    const asked = c.req.valid('query');
    const rows = await listFindings(db, {
      filter: { planId: asked.plan_id, rule: asked.rule, disposition: asked.disposition, keyId: asked.key_id },
      organizations: c.get('principal').organizations,
      page: { limit: asked.limit, after: openCursor(asked) },
    });
    const last = rows.at(-1);
    const cursor = nextCursor(asked, rows.length, last && [last.finding.number]);
    return c.json({ items: rows.map(renderFinding), next_cursor: cursor }, 200);
  });

  app.openapi(plansRoute, async (c) => {
    requireAllOrganizations(c.get('principal'));
    const asked = c.req.valid('query');
    const rows = await listPlans(db, { limit: asked.limit, after: openCursor(asked) });
    const last = rows.at(-1);
    return c.json(
      { items: rows.map(renderPlan), next_cursor: nextCursor(asked, rows.length, last && [last.sequence]) },
      200,
    );
  });

  app.openapi(planRoute, async (c) => {
    requireAllOrganizations(c.get('principal'));
    const plan = await findPlan(db, c.req.param('plan_id'));
    if (plan === undefined) throw new Problem(404, 'Not found', 'There is no plan of this id; /v1/plans lists them.');
    return c.json({ ...renderPlan(plan), document: JSON.parse(plan.document) }, 200);
  });

  app.openapi(runsRoute, async (c) => {
    requireAllOrganizations(c.get('principal'));
    const asked = c.req.valid('query');
    const rows = await listRuns(db, { kind: asked.kind, page: { limit: asked.limit, after: openCursor(asked) } });
    const last = rows.at(-1);
    return c.json(
      { items: rows.map(renderRun), next_cursor: nextCursor(asked, rows.length, last && [last.number]) },
      200,
    );
  });
}

function renderFinding({
  finding,
  key,
}: Awaited<ReturnType<typeof listFindings>>[number]): z.infer<typeof findingItem> {
  return {
    plan_id: finding.planId,
    rule: finding.rule,
    action: finding.action,
    disposition: finding.disposition,
    why_held: finding.whyHeld,
    hold_kind: finding.holdKind,
    limit: finding.limit,
    reason: finding.reason,
    evidence: finding.evidence,
    key: { scope: key.scope, id: key.id, kind: key.kind, name: key.name, organization_id: key.organizationId },
  };
}

function renderPlan(plan: Awaited<ReturnType<typeof listPlans>>[number]): z.infer<typeof planItem> {
  return {
    id: plan.id,
    sha256: plan.sha256,
    created_at: plan.createdAt,
    items: plan.itemCount,
    held: plan.heldCount,
    reported: plan.reportedCount,
    approvals: plan.approvals,
    revoked: plan.revoked,
  };
}

function renderRun(run: Awaited<ReturnType<typeof listRuns>>[number]): z.infer<typeof runItem> {
  const { number, kind, connection, status, startedAt, finishedAt, counts, error } = run;
  return { id: number, kind, connection, status, started_at: startedAt, finished_at: finishedAt, counts, error };
}
