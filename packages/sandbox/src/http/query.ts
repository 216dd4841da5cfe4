import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import { z } from 'zod';
import { lastInstant, type Micros, parseInstant } from '../store/time.ts';
import { Refusal } from './errors.ts';

/** Reads `limit`: an integer from 1 to `max`; otherwise throws 400 as the control plane does. */
export function readLimit(c: Context, { max, fallback }: { max: number; fallback: number }): number {
  const text = c.req.query('limit');
  if (text === undefined) return fallback;
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > max)
    throw new Refusal(400, `parameter "limit" in query has an error: number must be from 1 to ${max}`);
  return limit;
}

/** Reads `true` or `false`, in capitals too; returns false when absent. */
export function readFlag(c: Context, name: string): boolean {
  const text = (c.req.query(name) ?? 'false').toLowerCase();
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Refusal(400, `parameter "${name}" in query has an error: value must be true or false`);
}

/** Reads an instant with any offset; returns undefined when absent. */
export function readInstant(c: Context, name: string): Micros | undefined {
  const text = c.req.query(name);
  return text === undefined ? undefined : instantOf(text, name);
}

/** A log sequence number as Postgres writes it. */
export const logSequenceNumber = z.string().regex(/^[0-9A-Fa-f]{1,8}\/[0-9A-Fa-f]{1,8}$/, 'not a log sequence number');

/** Reads a log sequence number; returns undefined when absent. */
export function readLsn(c: Context, name: string): string | undefined {
  const { data, error } = logSequenceNumber.optional().safeParse(c.req.query(name));
  if (error === undefined) return data;
  throw new Refusal(400, `parameter "${name}" in query has an error: not a log sequence number`);
}

/** Returns an instant from a body or a query; throws 400 if it is invalid. */
export function instantOf(text: string, name: string): Micros {
  const milliseconds = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  const at = parseInstant(text) ?? milliseconds * 1000;
  if (at >= 0 && at <= lastInstant) return at;
  throw new Refusal(400, `${name} must be a time like 2026-01-31T00:00:00Z, from 1970 to 2200`);
}

/** Reads a list given as repeated parameters, with commas, or both. */
export function readList(c: Context, name: string): string[] {
  return (c.req.queries(name) ?? []).flatMap((text) => text.split(',')).filter((text) => text !== '');
}

/** Reads a required parameter; throws 400 without it. */
export function readRequired(c: Context, name: string): string {
  const text = c.req.query(name);
  if (text === undefined || text === '') throw new Refusal(400, `parameter "${name}" in query is required`);
  return text;
}

/** Reads a path parameter, which Hono has already matched. */
export function readPath(c: Context, name: string): string {
  return c.req.param(name) ?? '';
}

/** Returns the pattern of the first handler for a request, like `/projects/{project_id}/operations`; undefined if there is none. */
export function routeOf(c: Context): string | undefined {
  const handler = matchedRoutes(c).find((route) => route.method !== 'ALL');
  return handler?.path.replace(/^\/api\/v2/, '').replace(/:(\w+)/g, '{$1}');
}
