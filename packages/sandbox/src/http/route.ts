import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';

/** The pattern of the first handler that a request goes to, like `/projects/{project_id}/operations`; undefined if there is none. */
export function routeOf(c: Context): string | undefined {
  const handler = matchedRoutes(c).find((route) => route.method !== 'ALL');
  return handler?.path.replace(/^\/api\/v2/, '').replace(/:(\w+)/g, '{$1}');
}
