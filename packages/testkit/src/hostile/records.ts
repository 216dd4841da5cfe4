import { changeRecords, type Distortion, type Exchange, type Row } from './exchange.ts';

// Distortions of single records: times of another precision or zone, missing fields, wrong types, impossible values.

const onRecords =
  (change: (row: Row, exchange: Exchange) => Row): Distortion =>
  async (exchange, forward) =>
    await changeRecords(await forward(), (row) => change(row, exchange));

const isTime = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value);

/** Rewrites every time of a record, including those in nested records. */
function withTimes(row: Row, write: (at: string) => string): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (isTime(value)) return [name, write(value)];
      const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
      return [name, isRecord ? withTimes(value as Row, write) : value];
    }),
  );
}

export const wholeSeconds = onRecords((row) => withTimes(row, (at) => `${at.slice(0, 19)}Z`));

export const milliseconds = onRecords((row) => withTimes(row, (at) => at.replace(/(\.\d{3})\d+Z$/, '$1Z')));

export const moreDigits = onRecords((row) =>
  withTimes(row, (at) => (at.includes('.') ? at.replace('Z', '000Z') : at.replace('Z', '.000000000Z'))),
);

/** The same instants in another zone. */
export const otherZone = onRecords((row, { random }) => {
  const hours = random.pick([-7, -3, 1, 2, 5, 9]);
  return withTimes(row, (at) => {
    const local = new Date(Date.parse(`${at.slice(0, 19)}Z`) + hours * 3_600_000).toISOString().slice(0, 19);
    return `${local}${at.slice(19, -1)}${hours < 0 ? '-' : '+'}0${Math.abs(hours)}:00`;
  });
});

export const lowerCase = onRecords((row) => withTimes(row, (at) => at.toLowerCase()));

/** Adds fields that the description does not have, and puts all in another order. */
export const moreFields = onRecords((row) => ({
  ...Object.fromEntries(Object.entries(row).toReversed()),
  ['__proto__']: { constructor: null },
  '': [2 ** 64, 1e300],
}));

/** Removes a field of some records. */
export const missingFields = onRecords((row, { random }) => {
  if (!random.chance(0.2)) return row;
  const lost = random.pick(Object.keys(row));
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== lost));
});

/** Changes the type of a field of some records. */
export const otherTypes = onRecords((row, { random }) => {
  if (!random.chance(0.2)) return row;
  const field = random.pick(Object.keys(row).filter((name) => name !== 'last_used_at'));
  const others = [null, 7, 'seven', true, [], {}, -1.5, '9223372036854775808', 2 ** 70];
  // A wrong value of the right type would be undetectable.
  return { ...row, [field]: random.pick(others.filter((each) => typeof each !== typeof row[field])) };
});

/** Sets impossible creation times: zero, in the future, not in the calendar, beyond the storable range. */
export const oddCreation = onRecords((row, { random, nowMs }) => {
  if (!('created_at' in row) || !random.chance(0.3)) return row;
  const soon = new Date(nowMs + 400 * 86_400_000).toISOString();
  return {
    ...row,
    created_at: random.pick(['0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', soon, '2026-02-30T10:00:00Z', '']),
  };
});

/** Removes the time of the last use while the address shows a use, or sets it before the creation or in the future. */
export const oddUse = onRecords((row, { random }) => {
  if (typeof row.last_used_at !== 'string' || !random.chance(0.3)) return row;
  return {
    ...row,
    last_used_at: random.pick([null, '0001-01-01T00:00:00Z', '2001-01-01T00:00:00Z', '9999-12-31T23:59:59Z']),
  };
});
