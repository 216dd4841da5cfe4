type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** An object with the names of its members in camelCase: `plan_id` as `planId`. */
export type Camelled<T> = { [K in keyof T as K extends string ? Camel<K> : never]: T[K] };

/** Returns a snake_case name in camelCase, by the rule of Camelled. */
export function toCamel(name: string): string {
  return name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}
