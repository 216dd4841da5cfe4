import type { z } from '@hono/zod-openapi';
import type { Reader } from '@keywarden/db/report';

/** `plan_id` as `planId`. */
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** Parameters by the names that they have in code. */
export type Camelled<T> = { [K in keyof T as K extends string ? Camel<K> : never]: T[K] };

/** Gives parameters the names that they have in code. */
export function camelled<T extends object>(parameters: T): Camelled<T> {
  const named = Object.entries(parameters).map(([name, value]) => [
    name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(named) as Camelled<T>; // by the same rule
}

/** What is asked of a list, by a route, a page or an export. */
export interface Question<F extends z.ZodRawShape, O extends string = never> {
  db: Reader;
  query: Camelled<z.output<z.ZodObject<F>>>;
  /** Those that the asker may see; null: all. */
  organizations: string[] | null;
  sort?: O | undefined;
  direction?: 'asc' | 'desc' | undefined;
}
