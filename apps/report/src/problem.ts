import { z } from '@hono/zod-openapi';
import { codeOf, isStoreFailure, isStoreUnavailable, type Logger, whyExhausted } from '@keywarden/runtime';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** An error answer (RFC 9457). Handlers throw it; the app renders it in one place. */
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

/** Returns a 404 for a record that does not exist or that the token cannot see. */
export function notFound(what: string, where: string): Problem {
  return new Problem(
    404,
    'Not found',
    `There is no ${what} that this token can see; ${where} lists what is available.`,
  );
}

/** Returns a 403 for what this token may not do. */
export function forbidden(detail: string): Problem {
  return new Problem(403, 'Forbidden', detail);
}

/** Returns a 401 for a token or session that has ended since the request began. */
export function sessionEnded(): Problem {
  return new Problem(401, 'Unauthenticated', 'The token or session has ended.');
}

/** Returns a 409 for what the state does not allow yet. */
export function conflict(detail: string): Problem {
  return new Problem(409, 'Conflict', detail);
}

/** Returns a 422 for what is valid, but cannot be carried out. */
export function cannotBeDone(detail: string): Problem {
  return new Problem(422, 'Cannot be done', detail);
}

/** Returns a 400 for a parameter. The detail names it. */
export function badParameter(detail: string): Problem {
  return new Problem(400, 'Bad parameter', detail);
}

export function renderProblem(c: Context, { status, title, message, headers }: Problem) {
  const body = { type: 'about:blank', status, title, detail: message, request_id: c.get('requestId') };
  return c.body(JSON.stringify(body), status, { ...headers, 'content-type': 'application/problem+json' });
}

/** Returns the Problem for an action that may have been done: an answer that it failed, or that it can be sent again, would be false. */
export function mayBeDone(why: string): Problem {
  const detail = `This may have been done, but ${why}. Look whether it was recorded before you send it again.`;
  return new Problem(500, 'May have been done', detail);
}

/** Returns the Problem for a request whose client has gone. It is only recorded. */
export function clientGone(): Problem {
  // Not a registered status, but the one that proxies log for this.
  return new Problem(499 as ContentfulStatusCode, 'Client has gone', 'The client did not wait for the answer.');
}

const unavailable = (why: string) => new Problem(503, 'Unavailable', `The audit store ${why}.`);

/** Returns the Problem that the client sees for an error. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException && error.status === 400)
    return new Problem(400, 'Bad request', 'The body is not valid JSON; /docs describes it.');
  const code = codeOf(error);
  if (code === '57014')
    return new Problem(503, 'Takes too long', 'This query takes too long; narrow it to a project or a shorter time.');
  if (code === 'KW002') return sessionEnded();
  if (code === 'KW003') return forbidden('This token may not do that.');
  if (code === 'KW004') return new Problem(404, 'Not found', 'One of these keys is not visible to this token.');
  if (code.startsWith('22')) return badParameter('The store cannot read a value in this format.');
  if (code === '25006') return unavailable('is read-only, as during a failover; try again later');
  if (isStoreUnavailable(error)) return unavailable('does not answer; try again later');
  if (whyExhausted(error) !== null)
    return unavailable('has too little space, memory or time for this; its operator finds the reason in the log');
  if (isStoreFailure(error)) return unavailable('has an internal error; on a cluster, a node may not answer');
  return new Problem(500, 'Internal error', 'The request failed; find the details in the log by the request id.');
}

/** Returns the Problem of a request's error, and logs what an operator must know. A client that has gone is no failure. */
export function toLoggedProblem(error: unknown, c: Context, log: Logger): Problem {
  const problem = c.req.raw.signal.aborted ? clientGone() : toProblemOf(error, c);
  if (problem.status >= 500) {
    const says = problem.status === 503 ? 'the store does not answer' : 'a request failed';
    log[problem.status === 503 ? 'warn' : 'error']({ err: error, request: c.get('requestId') }, says);
  }
  return problem;
}

/**
 * A statement that the store did not carry out, or whose answer is lost, may be one after an action, once the holder of the token is known. An error after the
 * handler's answer is that of the record of the request: what was done (below 400) or may have been (500) stays so, and what was refused was not done.
 */
function toProblemOf(error: unknown, c: Context): Problem {
  const problem = toProblem(error);
  const acts = c.req.method === 'POST' && c.get('principal') !== undefined;
  const { status } = c.finalized ? c.res : {};
  // A Problem that was thrown as one is the report's own, such as that it is busy.
  const isOfStore = problem.status === 503 && problem !== error;
  const mayHaveActed = acts && (status === undefined ? isOfStore : status < 400 || status === 500);
  return mayHaveActed ? mayBeDone('the audit store failed') : problem;
}

/** Returns what is wrong with a request that a schema refuses: the parameter or field, a colon, and why. */
export function issueInWords({ issues: [issue] }: z.core.$ZodError): string {
  if (issue === undefined) return 'the request: is invalid';
  const isUnknown = issue.code === 'unrecognized_keys';
  const names = isUnknown ? [...issue.path, issue.keys.join(', ')] : issue.path;
  return `${names.join('.') || 'the body'}: ${isUnknown ? 'is not a parameter here' : messageOf(issue)}`;
}

/** Returns a schema's own message, or one for people in the place of the library's. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (!/^(Invalid|Too (small|big))/.test(issue.message)) return issue.message;
  if (issue.message.endsWith('received undefined')) return 'is missing';
  switch (issue.code) {
    case 'too_small':
      return issue.minimum === 1 && issue.origin !== 'number'
        ? 'must not be empty'
        : `must ${amountOf(issue.origin)}${issue.minimum} or more`;
    case 'too_big':
      return `must ${amountOf(issue.origin)}at most ${issue.maximum}`;
    case 'invalid_type':
      return `must be of the type ${issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    default:
      return issue.message;
  }
}

/** What a limit is about: the size of a text or a list, or the value of a number. */
function amountOf(origin: string): string {
  return origin === 'string' ? 'have a length of ' : origin === 'array' ? 'have a number of items of ' : 'be ';
}
