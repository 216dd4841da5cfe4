import type { z } from '@hono/zod-openapi';
import type { Reader } from '@keywarden/db/report';

/** `plan_id` as `planId`. */
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** Parameters with camelCase names. */
export type Camelled<T> = { [K in keyof T as K extends string ? Camel<K> : never]: T[K] };

/** Returns parameters with camelCase names. */
export function camelled<T extends object>(parameters: T): Camelled<T> {
  const named = Object.entries(parameters).map(([name, value]) => [
    name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()),
    value,
  ]);
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
