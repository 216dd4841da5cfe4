import { expect, test } from 'vitest';
import { readEnvironment } from './environment.ts';

const at = 'postgres://ada:s,ecret@db.internal:5432/keywarden';
const read = (address: string) => readEnvironment({ DATABASE_URL: address }).DATABASE_URL;

test.each([
  at,
  `${at}?`,
  `${at}?sslmode=verify-full`,
  `${at}?sslmode=require`,
  `${at}?ssl=true`,
  'postgresql://[::1]/keywarden?sslmode=disable',
  'postgres:///keywarden',
])('DATABASE_URL may be %s', (address) => {
  expect(read(address)).toBe(address);
});

test.each([
  'target_session_attrs=read-write',
  'sslmode=requre',
  'sslmode=',
  'sslmode=verify-full&sslmode=disable',
  'sslrootcert=/etc/ca.pem',
  'options=-c%20role%3Dnone',
  'connect_timeout=5',
  'application_name=x',
  'search_path=public',
  'toString=',
])('no setting of DATABASE_URL is ignored: ?%s', (query) => {
  expect(() => read(`${at}?${query}`)).toThrow(
    /^DATABASE_URL may have one setting after its question mark, which is sslmode: disable, allow, prefer, require, verify-ca or verify-full\.$/,
  );
});

test('an address as hosts of Postgres show it is refused with what replaces its setting', () => {
  expect(() => read(`${at}?sslmode=require&channel_binding=require`)).toThrow(
    /^DATABASE_URL may not have channel_binding, .*: remove it, and use sslmode=verify-full, /,
  );
});

test.each(['db-1,db-2', 'db-1:5432,db-2:5433', 'db-1%2Cdb-2'])('DATABASE_URL with the hosts %s is refused', (hosts) => {
  expect(() => read(`postgres://ada:s,ecret@${hosts}/keywarden`)).toThrow(
    /^DATABASE_URL must have one host; point it, or its DNS name, at the primary\.$/,
  );
});

test('an address of another protocol, and none, are refused', () => {
  for (const address of ['mysql://db.internal/x', 'db.internal'])
    expect(() => read(address)).toThrow(
      /^DATABASE_URL must be an address that begins with postgres:\/\/ or postgresql:\/\/\.$/,
    );
});

test.each(['ada:secret@/x?host=/var/run/postgresql', 'ada@db:port/x'])(
  'an address without a host or with a wrong port is refused with the form that it needs: %s',
  (rest) => {
    expect(() => read(`postgres://${rest}`)).toThrow(
      /^DATABASE_URL must name a host, and its port as a number: postgres:\/\/user:password@host:5432\/database; Unix sockets are not supported\.$/,
    );
  },
);
