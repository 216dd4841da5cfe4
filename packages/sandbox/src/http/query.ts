import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import { lastInstant, type Micros, parseInstant } from '../store/time.ts';
import { Refusal } from './errors.ts';

/** Reads `limit`: an integer from 1 to `max`, else 400 as the control plane answers. */
export function readLimit(c: Context, { max, fallback }: { max: number; fallback: number }): number {
  const text = c.req.query('limit');
  if (text === undefined) return fallback;
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > max) {
    throw new Refusal(400, `parameter "limit" in query has an error: number must be from 1 to ${max}`);
  }
  return limit;
}

/** Reads `true` or `false`, in capitals too; false when absent. */
export function readFlag(c: Context, name: string): boolean {
  const text = (c.req.query(name) ?? 'false').toLowerCase();
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Refusal(400, `parameter "${name}" in query has an error: value must be true or false`);
}

/** Reads an instant, which the caller may have written with any offset; undefined when absent. */
export function readInstant(c: Context, name: string): Micros | undefined {
  const text = c.req.query(name);
  return text === undefined ? undefined : instantOf(text, name);
}

/** A log sequence number as Postgres writes it. */
export const logSequenceNumber = /^[0-9A-Fa-f]{1,8}\/[0-9A-Fa-f]{1,8}$/;

/** An instant out of a body or a query; 400 when it is none. */
export function instantOf(text: string, name: string): Micros {
  const milliseconds = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  const at = parseInstant(text) ?? milliseconds * 1000;
  if (at >= 0 && at <= lastInstant) return at;
  throw new Refusal(400, `${name} must be a time like 2026-01-31T00:00:00Z, from 1970 to 2200`);
}

/** A list that comes as repeated parameters, as one with commas, or both. */
export function readList(c: Context, name: string): string[] {
  return (c.req.queries(name) ?? []).flatMap((text) => text.split(',')).filter((text) => text !== '');
}

/** A required parameter; 400 without it. */
export function readRequired(c: Context, name: string): string {
  const text = c.req.query(name);
  if (text === undefined || text === '') throw new Refusal(400, `parameter "${name}" in query is required`);
  return text;
}

/** A path parameter; Hono has matched it, so that it is there. */
export function readPath(c: Context, name: string): string {
  return c.req.param(name) ?? '';
}

/** The pattern of the first handler that a request goes to, like `/projects/{project_id}/operations`; undefined if there is none. */
export function routeOf(c: Context): string | undefined {
  const handler = matchedRoutes(c).find((route) => route.method !== 'ALL');
  return handler?.path.replace(/^\/api\/v2/, '').replace(/:(\w+)/g, '{$1}');
}
