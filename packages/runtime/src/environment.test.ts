import { expect, test } from 'vitest';
import { readEnvironment } from './environment.ts';

test('an address to listen on may have the brackets that it has in URLs', () => {
  const hostOf = (value: string) => readEnvironment({ REPORT_HOST: value, DAEMON_HOST: value }).REPORT_HOST;
  expect(['[::1]', '::1', 'localhost', '[]'].map(hostOf)).toEqual(['::1', '::1', 'localhost', '[]']);
});

test('a % of a password that begins no escape is reported, without the password', () => {
  const read = (password: string) =>
    readEnvironment({ DATABASE_URL: `postgres://ada:${password}@localhost/keywarden` });
  expect(() => read('hunter2%zz')).toThrow(
    /^DATABASE_URL has a % that begins no escape; write a % of the password as %25\.$/,
  );
  expect(read('hunter2%25zz').DATABASE_URL).toContain('%25');
});

test('spaces and line breaks around a token do not count', () => {
  const { REPORT_TOKEN, AUDITOR_TOKEN } = readEnvironment({
    REPORT_TOKEN: ' twenty-or-more-letters\r\n',
    AUDITOR_TOKEN: 'kwr_x\n',
  });
  expect([REPORT_TOKEN, AUDITOR_TOKEN]).toEqual(['twenty-or-more-letters', 'kwr_x']);
});
