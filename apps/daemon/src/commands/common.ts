import { userInfo } from 'node:os';
import { type Policy, reviewRule } from '@keywarden/core/policy';
import { addDays, isInstant, parseDuration, someOf, startOfDay } from '@keywarden/core/values';
import { type listLostSuccessors, listOrganizationIds } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { printableCell, usageError } from '@keywarden/runtime';

/** Returns the name of the user who runs the command. In many containers the user has no name: then returns its number. */
export function userName(): string {
  try {
    const { username } = userInfo();
    // Records by this name are Keywarden's own, and a service often runs as a user of this name.
    return username === 'keywarden' ? 'user keywarden' : username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The length of a complete list, which scripts need: more than any store has. */
export const wholeList = 1_000_000;

/** Postgres and JavaScript write later years in different ways. */
const latestMs = Date.parse('9999-01-01T00:00:00Z');

/** Returns the end that `text` names: a day (included), an RFC 3339 time, or a duration from `now`. Throws a UserError that names `what`. */
export function parseUntil(text: string, { now, what }: { now: string; what: string }): string {
  const lastingMs = parseDuration(text);
  const isDay = isInstant(`${text}T00:00:00Z`);
  if (lastingMs === undefined && !isDay && !isInstant(text))
    throw usageError(
      `${text} is neither a date nor a duration of at most 365000d; write it as 2027-03-31, which is included, as 2027-03-31T12:00:00Z or as 90d.`,
    );
  const atMs =
    lastingMs !== undefined ? Date.parse(now) + lastingMs : Date.parse(isDay ? startOfDay(addDays(text, 1)) : text);
  if (atMs > latestMs) throw usageError(`${text} is after the year 9998; name an earlier end.`);
  if (atMs <= Date.parse(now)) throw usageError(`${text} is in the past; ${what} must end in the future.`);
  return new Date(atMs).toISOString();
}

/** Returns the value that a text names. Throws a UserError that lists the values. `what` is what they are: a role, a state. */
export function requireOneOf<T extends string>(text: string, values: readonly T[], what: string): T {
  const found = values.find((each) => each === text);
  if (found === undefined) throw usageError(`There is no ${what} ${text}; use one of ${values.join(', ')}.`);
  return found;
}

/** Throws a UserError if a text is no number of a record. It names the command that lists them. */
export function requireNumber(text: string, { of, list }: { of: string; list: string }): void {
  if (!/^\d{1,18}$/.test(text)) throw usageError(`${text} is not ${of}; keywarden ${list} shows them.`);
}

const mostNamed = 10;

/** Names successors whose mint the store lacks: they have no owner and no exemption of their predecessors. Only `check` and `arm` name them. */
export function lostInWords(lost: Awaited<ReturnType<typeof listLostSuccessors>>): string {
  const names = lost.map(({ id, name, scope }) => `${printableCell(name)} (${id} of ${printableCell(scope)})`);
  return `This store has no record of how these successors were minted, and judges them like any other key: ${someOf(names, mostNamed)}.`;
}

/** Throws a UserError if the policy has no rule of one of these names. */
export function requireRules({ rules }: Policy, names: string[]): void {
  const known = [...rules.map(({ name }) => name), reviewRule.name];
  const unknown = names.find((each) => !known.includes(each));
  if (unknown !== undefined) throw usageError(`The policy has no rule ${unknown}; it has ${known.join(', ')}.`);
}

/** Throws a UserError if the store has no organization with this id. It names those that are meant most probably. */
export async function requireOrganization(db: Db, id: string): Promise<void> {
  const known = await listOrganizationIds(db);
  if (known.includes(id)) return;
  if (known.length === 0)
    throw usageError(`The store has no organization yet, so ${id} cannot be checked; run keywarden sync keys first.`);
  const similar = known.filter((each) => each.includes(id) || id.includes(each));
  const named = (similar.length > 0 ? similar : known).slice(0, mostNamed);
  throw usageError(
    `There is no organization ${id} in the store; it has ${named.join(', ')}${named.length < known.length ? ' and others' : ''}.`,
  );
}
