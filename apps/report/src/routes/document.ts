import type { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Env } from '../services.ts';

const description = {
  openapi: '3.1.0',
  info: {
    title: 'Keywarden report API',
    version: '1',
    description: 'Keys, findings, plans, reviews, rotations, operations and their coverage, from the audit store.',
  },
  servers: [{ url: '/', description: 'The report that serves this description' }],
};

/** Returns the OpenAPI document of the report. Each operation has an id and a tag, and says whether it needs a token. */
export function makeDocument(app: OpenAPIHono<Env>) {
  const document = app.getOpenAPI31Document(description);
  const refusals: Responses = {};
  for (const [path, methods] of Object.entries(document.paths ?? {}))
    for (const [method, operation] of Object.entries(methods ?? {}) as [string, { [name: string]: unknown }][]) {
      operation.operationId = operationIdOf(method, path);
      operation.tags = [tagOf(path)];
      operation.security ??= [];
      operation.responses = shareRefusals(operation.responses as Responses, refusals);
    }
  document.components = { ...document.components, responses: refusals };
  const tags = new Set(Object.keys(document.paths ?? {}).map(tagOf));
  document.tags = [...tags].toSorted().map((name) => ({ name, description: describeTag(name) }));
  return document;
}

type Responses = NonNullable<
  NonNullable<ReturnType<OpenAPIHono<Env>['getOpenAPI31Document']>['components']>['responses']
>;

/** Returns the responses of an operation, with its refusals (from 400 on) as references to those that it has in common with others. */
function shareRefusals(responses: Responses, shared: Responses): Responses {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      if (Number(status) < 400) return [status, response];
      const name = `Refusal${status}`;
      shared[name] ??= response;
      const isSame = JSON.stringify(shared[name]) === JSON.stringify(response);
      return [status, isSame ? { $ref: `#/components/responses/${name}` } : response];
    }),
  );
}

/** Returns the group of a path in the description: the noun of the API, the archive or the probes. */
function tagOf(path: string): string {
  if (path.startsWith('/api/v2/')) return 'archive';
  return path.startsWith('/v1/') ? (path.split('/')[2] ?? '') : 'probes';
}

function describeTag(name: string): string {
  if (name === 'archive') return 'Projects and operations in the shape of the control plane';
  return name === 'probes' ? 'Whether the report can serve' : `/v1/${name}`;
}

/** Returns the name of an operation for generated clients: `post /v1/plans/{plan_id}/approvals` is `postPlansByPlanIdApprovals`. */
function operationIdOf(method: string, path: string): string {
  const words = path
    .replace(/^\/v1\//, '/')
    .split('/')
    .filter(Boolean)
    .map((part) => (part.startsWith('{') ? `By${capitalize(part.slice(1, -1))}` : capitalize(part)));
  return `${method}${words.join('')}`;
}

const capitalize = (text: string) =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** Returns the description of an answer in JSON. */
export const jsonAnswer = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});
