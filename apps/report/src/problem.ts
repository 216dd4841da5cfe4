import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** An answer that is an error, as RFC 9457 has it. Thrown by handlers, rendered once in the app. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly title: string;

  constructor(status: ContentfulStatusCode, title: string, detail: string) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.title = title;
  }
}

export const problemSchema = z
  .object({
    type: z.literal('about:blank'),
    status: z.int(),
    title: z.string(),
    detail: z.string(),
    request_id: z.string(),
  })
  .openapi('Problem');

export function renderProblem(c: Context, { status, title, message }: Pick<Problem, 'status' | 'title' | 'message'>) {
  const body = { type: 'about:blank', status, title, detail: message, request_id: c.get('requestId') };
  return c.body(JSON.stringify(body), status, { 'content-type': 'application/problem+json' });
}
