import type { z } from '@hono/zod-openapi';
import { type Camelled, toCamel } from '@keywarden/core/values';
import type { Reader } from '@keywarden/db/report';

/** Returns parameters with camelCase names. */
export function camelled<T extends object>(parameters: T): Camelled<T> {
  const named = Object.entries(parameters).map(([name, value]) => [toCamel(name), value]);
  return Object.fromEntries(named) as Camelled<T>; // the same rule as Camelled
}

/** The query for a list, from a route, a page or an export. */
export interface ListQuery<F extends z.ZodRawShape, O extends string = never> {
  db: Reader;
  query: Camelled<z.output<z.ZodObject<F>>>;
  /** The organizations that the principal can see; null means all. */
  organizations: string[] | null;
  sort?: O | undefined;
  direction?: 'asc' | 'desc' | undefined;
}
