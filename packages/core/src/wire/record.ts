import { z } from 'zod';

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type CamelKeys<T> = { [K in keyof T as K extends string ? Camel<K> : never]: T[K] };
type WireRecord<T> = CamelKeys<T> & { extra: Record<string, unknown> | null };

const absent = new WeakSet<z.ZodType>();

/** A field for which absent and null say the same: both become undefined. Cheaper than a transform of its own. */
export function optional<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined> {
  const made = schema.nullish();
  absent.add(made);
  // wireRecord turns the null of such a field into undefined.
  return made as unknown as z.ZodType<z.output<T> | undefined>;
}

/**
 * A record of the control plane: its known fields checked and renamed to camelCase, every other field kept as it came under
 * `extra`, which is null when there is none.
 */
export function wireRecord<S extends z.ZodRawShape>(shape: S) {
  const known = z.object(shape);
  const fields = Object.entries(shape).map(([name, schema]) => ({
    name,
    camel: toCamel(name),
    // A shape holds schemas of zod.
    isOptional: absent.has(schema as z.ZodType),
  }));
  const isKnown = new Set(Object.keys(shape));
  // An archive reads millions of these: one pass by the compiled schema, one over the names.
  return z.unknown().transform((input, context): WireRecord<z.output<typeof known>> => {
    const parsed = known.safeParse(input);
    if (!parsed.success) {
      for (const { code: _code, ...issue } of parsed.error.issues) context.addIssue({ code: 'custom', ...issue });
      return z.NEVER;
    }
    const values: Record<string, unknown> = parsed.data;
    const renamed: Record<string, unknown> = {};
    for (const { name, camel, isOptional } of fields) {
      renamed[camel] = isOptional ? (values[name] ?? undefined) : values[name];
    }
    renamed.extra = extraOf(input, isKnown);
    // Each known field was parsed by its own schema and only renamed here.
    return renamed as WireRecord<z.output<typeof known>>;
  });
}

function extraOf(record: unknown, isKnown: ReadonlySet<string>): Record<string, unknown> | null {
  let extra: Record<string, unknown> | null = null;
  // What z.object has accepted is an object.
  for (const name in record as object) {
    if (isKnown.has(name)) continue;
    extra ??= {};
    extra[name] = Reflect.get(record as object, name);
  }
  return extra;
}

function toCamel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
