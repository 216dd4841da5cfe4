import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** An answer that is an error, as RFC 9457 has it. Thrown by handlers, rendered once in the app. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly title: string;
  readonly headers: Record<string, string>;

  constructor(status: ContentfulStatusCode, title: string, detail: string, headers: Record<string, string> = {}) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.title = title;
    this.headers = headers;
  }
}

export const problemSchema = z
  .strictObject({
    type: z.literal('about:blank'),
    status: z.int(),
    title: z.string(),
    detail: z.string(),
    request_id: z.string(),
  })
  .openapi('Problem');

/** There is none of this name, for this token. */
export function notFound(what: string, where: string): Problem {
  return new Problem(
    404,
    'Not found',
    `There is no ${what} here that this token may see; ${where} lists what there is.`,
  );
}

export function renderProblem(c: Context, { status, title, message, headers }: Problem) {
  const body = { type: 'about:blank', status, title, detail: message, request_id: c.get('requestId') };
  return c.body(JSON.stringify(body), status, { ...headers, 'content-type': 'application/problem+json' });
}
