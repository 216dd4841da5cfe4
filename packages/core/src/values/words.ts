import { dayMs } from './days.ts';

/** Returns a number with its noun: "1 key", "1200 keys". */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the first names of a list, and how many more there are: "a, b and 3 more". */
export function someOf(names: readonly string[], most = 5): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}

/** Returns whole days as readable text: "143 days", "1 day", "less than a day". */
export function daysInWords(ms: number): string {
  const days = Math.floor(ms / dayMs);
  return days < 1 ? 'less than a day' : countOf(days, 'day');
}

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** An object with the names of its members in camelCase: `plan_id` as `planId`. */
export type Camelled<T> = { [K in keyof T as K extends string ? Camel<K> : never]: T[K] };

/** Returns a snake_case name in camelCase, by the rule of Camelled. */
export function toCamel(name: string): string {
  return name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}
