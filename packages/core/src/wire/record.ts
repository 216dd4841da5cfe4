import { z } from 'zod';

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type CamelKeys<T> = { [K in keyof T as K extends string ? Camel<K> : never]: T[K] };
type WireRecord<T> = CamelKeys<T> & { extra: Record<string, unknown> | null };

/**
 * A record of the control plane: its known fields checked and renamed to camelCase, every other field kept as it came under
 * `extra`, which is null when there is none.
 */
export function wireRecord<S extends z.ZodRawShape>(shape: S) {
  const names = new Map(Object.keys(shape).map((name) => [name, toCamel(name)]));
  const parseKnown = z.object(shape);
  return z.looseObject(shape).transform((record) => {
    const renamed: Record<string, unknown> = {};
    let extra: Record<string, unknown> | null = null;
    for (const [name, value] of Object.entries(record)) {
      const known = names.get(name);
      if (known === undefined) {
        extra ??= {};
        extra[name] = value;
      } else renamed[known] = value;
    }
    renamed.extra = extra;
    // Each known field was parsed by its own schema and only renamed here.
    return renamed as WireRecord<z.output<typeof parseKnown>>;
  });
}

function toCamel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
