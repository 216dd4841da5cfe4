import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** A refusal in the control plane's own shape. Handlers throw it; the app renders it in one place. */
export class Refusal extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: string;

  constructor(status: ContentfulStatusCode, message: string, code = '') {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
  }
}

/** Returns what a request names; throws a 404 with this message if it does not exist. */
export function found<T>(named: T | undefined, message: string): T {
  if (named === undefined) throw new Refusal(404, message);
  return named;
}

export function renderRefusal(c: Context, { status, code, message }: Pick<Refusal, 'status' | 'code' | 'message'>) {
  return c.json({ request_id: requestIdOf(c), code, message }, status);
}

const requestIds = new WeakMap<Request, string>();

/** Returns the id of a request: the client's own, or a new one. */
export function requestIdOf(c: Context): string {
  const { raw } = c.req;
  const id = requestIds.get(raw) ?? c.req.header('x-request-id') ?? randomUUID();
  requestIds.set(raw, id);
  return id;
}

export const unauthenticated = () => new Refusal(401, 'supplied credentials do not pass authentication');
export const outsideProject = (projectId: string) =>
  new Refusal(
    404,
    `not allowed to perform actions outside the project this key is scoped to; subject_project_id:"${projectId}"`,
  );
