import type { Context } from 'hono';
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

/** A path parameter; Hono has matched it, so that it is there. */
export function readPath(c: Context, name: string): string {
  return c.req.param(name) ?? '';
}
