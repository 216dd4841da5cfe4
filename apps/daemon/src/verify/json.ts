import { endOfString } from '@keywarden/core/values';
import { DamagedFile } from './verdict.ts';

/** More objects and lists than any file of ours has. A small archive can have texts of millions. */
const mostParts = 200_000;

/** Parses JSON. Throws a DamagedFile if an object has a member twice: programs read different ones of the two. */
export function parseOnce(text: string): unknown {
  if (hasMore(text, mostParts)) throw new DamagedFile('it has too many parts');
  const value = JSON.parse(text) as unknown;
  if (countNames(text) !== countMembers(value)) throw new DamagedFile('an object has a member twice');
  return value;
}

/** Counts the strings of JSON that are the name of a member: a colon follows them. */
function countNames(text: string): number {
  let names = 0;
  const colon = /\s*:/y;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', colon.lastIndex)) {
    const end = endOfString(text, at);
    colon.lastIndex = end;
    if (colon.test(text)) names += 1;
    else colon.lastIndex = end;
  }
  return names;
}

/** Returns whether a text has more brackets than that, those in its strings included. */
function hasMore(text: string, most: number): boolean {
  let parts = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0 && parts <= most; at = text.indexOf(bracket, at + 1)) parts += 1;
  return parts > most;
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, each) => sum + countMembers(each), own);
}
