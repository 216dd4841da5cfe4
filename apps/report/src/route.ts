import { createRoute, type z } from '@hono/zod-openapi';
import { problemSchema } from './problem.ts';

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

/** A GET route behind a token. `query` is strict: an unknown parameter is refused by its name. */
export function readRoute<P extends string, Q extends z.ZodObject, R extends z.ZodType>({
  path,
  summary,
  query,
  response,
}: {
  path: P;
  summary: string;
  query: Q;
  response: R;
}) {
  return createRoute({
    method: 'get',
    path,
    summary,
    security: [{ token: [] }],
    request: { query },
    responses: {
      200: { description: summary, content: { 'application/json': { schema: response } } },
      400: problem('A parameter is unknown or wrong'),
      401: problem('No token, or one that is not live'),
      403: problem('This token may not see it'),
      404: problem('There is none'),
    },
  });
}
