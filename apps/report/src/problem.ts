import { z } from '@hono/zod-openapi';
import { codeOf } from '@keywarden/runtime';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
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

/** What an error is to whoever asked. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException && error.status === 400)
    return new Problem(400, 'Bad request', 'The body is not JSON; send what /docs shows.');
  const code = codeOf(error);
  if (code === '57014')
    return new Problem(
      503,
      'Takes too long',
      'This question takes too long; narrow it, by a project or a shorter time.',
    );
  if (code.startsWith('22'))
    return new Problem(400, 'Bad parameter', 'A value is of a form that the store cannot read.');
  if (/^(ECONN|CONNECT|57P)/.test(code))
    return new Problem(503, 'Unavailable', 'The audit store does not answer; try again in a moment.');
  return new Problem(500, 'Internal error', 'The request failed; the log has more under its request id.');
}
