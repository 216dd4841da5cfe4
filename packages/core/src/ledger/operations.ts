import { endOfString, isInstant } from '../values/index.ts';
import { type Hash, hashLeaf } from './merkle.ts';

// The canonical form of an operation in a seal of the archive: the bytes that PostgreSQL's record_send writes for these columns, which a server hashes four
// times as fast as JSON. First the number of columns; then for each column its type, the length of its value, and the value. All three numbers have four
// bytes; the length of a missing value is -1. docs/LEDGER.md has an example.

/** The columns of an operation in their order, each with its type. */
export const sealedColumns = {
  id: 'uuid',
  created_at: 'timestamptz',
  branch_id: 'text',
  endpoint_id: 'text',
  action: 'text',
  status: 'text',
  failures_count: 'int8',
  error: 'text',
  retry_at: 'timestamptz',
  updated_at: 'timestamptz',
  total_duration_ms: 'int8',
  extra: 'jsonb',
  seen_at: 'timestamptz',
} as const;
type ColumnType = (typeof sealedColumns)[keyof typeof sealedColumns];

/** Returns whether a name is that of a column in a seal: no name that every object has. */
export const isSealed = (name: string): name is keyof typeof sealedColumns => Object.hasOwn(sealedColumns, name);

/** PostgreSQL's numbers of the types. */
const typeNumbers: Record<ColumnType, number> = { uuid: 2950, timestamptz: 1184, text: 25, int8: 20, jsonb: 3802 };

/** Writes a value, from the text that an export has for it. Throws a TypeError for a text that is no value of the type. */
const writers: Record<ColumnType, (text: string) => Buffer> = {
  uuid(text) {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)) throw new TypeError(`${text.slice(0, 50)} is no id`);
    return Buffer.from(text.replaceAll('-', ''), 'hex');
  },
  timestamptz: (text) => int64(microsecondsOf(text)),
  text(text) {
    // Half a surrogate pair has the bytes of U+FFFD.
    if (!text.isWellFormed()) throw new TypeError('a text has half a character');
    return Buffer.from(text);
  },
  int8(text) {
    if (!/^-?\d{1,19}$/.test(text)) throw new TypeError(`${text.slice(0, 50)} is no whole number`);
    return int64(BigInt(text));
  },
  jsonb(text) {
    if (!isJson(text)) throw new TypeError('an object is no JSON');
    // The first byte is the version of the format.
    return Buffer.from(`\u0001${text}`);
  },
};

/** Returns the hash of an operation as a leaf of a seal, from its members in an export. Throws a TypeError for members that are no operation. */
export function hashOperation(members: Map<string, string | null>): Hash {
  const count = Buffer.alloc(4);
  count.writeInt32BE(Object.keys(sealedColumns).length);
  const parts: Buffer[] = [count];
  for (const [name, type] of Object.entries(sealedColumns)) {
    const text = members.get(name);
    if (text === undefined) throw new TypeError(`it has no ${name}`);
    const value = text === null ? null : writers[type](text);
    const head = Buffer.alloc(8);
    head.writeInt32BE(typeNumbers[type]);
    head.writeInt32BE(value?.length ?? -1, 4);
    parts.push(head, ...(value === null ? [] : [value]));
  }
  return hashLeaf(Buffer.concat(parts));
}

const memberName = /[ \t]*"([a-z_]+)"[ \t]*:[ \t]*/y;
const scalar = /(")|(0|-?[1-9]\d*)(?=[ \t,}])|(null)/y;
const gap = /[ \t]*([,}])/y;

/** The JSON of each type of column. A number in quotes has the same bytes in the seal, and is another value to every other reader. */
const jsonKinds: Record<ColumnType, 'text' | 'number' | 'object'> = {
  uuid: 'text',
  timestamptz: 'text',
  text: 'text',
  int8: 'number',
  jsonb: 'object',
};

/**
 * Returns the members of an operation's JSON by name: the text of a string, the digits of a whole number, null, or the JSON of an object exactly as it is
 * written. Throws a TypeError for anything else, for a value of another kind than its column has, and for a name that is there twice.
 */
export function readMembers(line: string): Map<string, string | null> {
  const members = new Map<string, string | null>();
  let at = line.startsWith('{') ? 1 : fail();
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(line);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  for (;;) {
    const name = next(memberName)?.[1] ?? fail();
    if (members.has(name)) throw new TypeError(`it has ${name} twice`);
    const begin = at;
    const [found, quote, digits] = next(scalar) ?? [];
    const kind = quote !== undefined ? 'text' : digits !== undefined ? 'number' : 'object';
    const expected = isSealed(name) ? jsonKinds[sealedColumns[name]] : 'text';
    if (found !== 'null' && kind !== expected) throw new TypeError(`its ${name} is no ${expected}`);
    if (quote !== undefined) {
      at = endOfString(line, begin);
      members.set(name, String(JSON.parse(line.slice(begin, at))));
    } else if (found !== undefined) members.set(name, digits ?? null);
    else {
      const end = endOfObject(line, at);
      members.set(name, line.slice(at, end));
      at = end;
    }
    const separator = next(gap)?.[1];
    if (separator === '}' && at === line.length) return members;
    if (separator !== ',') fail();
  }
}

/** Returns the position after an object that begins at a position. */
function endOfObject(line: string, from: number): number {
  if (line[from] !== '{') fail();
  let depth = 0;
  for (let at = from; at < line.length; at += 1) {
    if (line[at] === '"') at = endOfString(line, at) - 1;
    else if (line[at] === '{') depth += 1;
    else if (line[at] === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return fail();
}

function fail(): never {
  throw new TypeError('it is no line of an export of operations');
}

/** Returns the microseconds from 2000-01-01 to a time in UTC. Throws a TypeError for any other text. */
function microsecondsOf(text: string): bigint {
  const [, seconds, fraction = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/.exec(text) ?? [];
  if (seconds === undefined || !isInstant(text)) throw new TypeError(`${text.slice(0, 50)} is no time`);
  return BigInt(Date.parse(`${seconds}Z`) - epochMs) * 1000n + BigInt(fraction.padEnd(6, '0'));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // It is none.
    return false;
  }
}

const epochMs = Date.UTC(2000);

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
