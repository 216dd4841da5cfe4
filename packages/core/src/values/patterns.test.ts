import { expect, test } from 'vitest';
import { clientAddress, clientNetwork, isNetwork, makeGlobTest, makeNetworkTest } from './patterns.ts';

test.each([
  ['ci-*', ['ci-', 'ci-a\nb'], ['ci', 'xci-a', 'CI-a']],
  ['?b', ['ab', '\nb'], ['b', 'aab', 'abb']],
  ['a.b', ['a.b'], ['axb']],
  ['(a|b)[c]{2}^$+\\', ['(a|b)[c]{2}^$+\\'], ['a', '']],
  ['', [''], ['a']],
])('the pattern %j matches whole texts: %j, and not %j', (pattern, matching, other) => {
  const test = makeGlobTest(pattern);
  expect([...matching, ...other].map((text) => test(text))).toEqual([
    ...matching.map(() => true),
    ...other.map(() => false),
  ]);
});

test('a network is an address or a range; an IPv4 address has four decimal parts', () => {
  const networks = ['203.0.113.7', '203.0.113.0/24', '2001:db8::7', '2001:db8::/32', '::ffff:10.0.0.0/104'];
  const others = ['10.1', '10', '010.0.0.1', '0x0a.0.0.1', '10.1/16', '10.0.0.0/33', '::/129', '2001:db8', 'unix', ''];
  expect(networks.map(isNetwork)).toEqual(networks.map(() => true));
  expect(others.map(isNetwork)).toEqual(others.map(() => false));
});

test.each([
  [['203.0.113.0/24'], { '203.0.113.0': true, '203.0.113.255': true, '203.0.114.0': false, '::1': false }],
  [['203.0.113.7'], { '203.0.113.7': true, '203.0.113.6': false, '::ffff:203.0.113.7': true }],
  [['2001:db8::/32'], { '2001:db8:ffff::1': true, '2001:db9::': false, '203.0.113.7': false }],
  [['2001:db8::7'], { '2001:db8::7': true, '2001:db8::6': false }],
  [['::ffff:10.0.0.0/104'], { '10.255.0.1': true, '11.0.0.0': false }],
  [['::ffff:0:0/96'], { '10.0.0.1': true, '::1': false }],
  [['::ffff:10.0.0.7'], { '10.0.0.7': true, '10.0.0.6': false }],
  [['10.0.0.0/8', '::1'], { '10.1.1.1': true, '::1': true, '::2': false }],
  [['::/0'], { '::1': true, '10.0.0.1': false }],
  [[], { '10.0.0.1': false }],
  [['0.0.0.0/0'], { unix: undefined, '': undefined, '10.0.0.1/32': undefined }],
])('the members of %j: %j', (networks, expected) => {
  const test = makeNetworkTest(networks);
  expect(Object.fromEntries(Object.keys(expected).map((address) => [address, test(address)]))).toEqual(expected);
});

test('limits count an IPv4 address, the first 64 bits of an IPv6 address, and any other text as it is', () => {
  expect(clientNetwork('203.0.113.7')).toBe('203.0.113.7');
  expect(clientNetwork('::ffff:203.0.113.7')).toBe('203.0.113.7');
  expect(clientNetwork('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
  expect(clientNetwork('2001:db8:1:2::9')).toBe('2001:db8:1:2::/64');
  expect(clientNetwork('unix')).toBe('unix');
});

test('the client of a chain of proxies is the first address', () => {
  expect([' 198.51.100.4 , 203.0.113.7', '198.51.100.4', ''].map(clientAddress)).toEqual([
    '198.51.100.4',
    '198.51.100.4',
    '',
  ]);
});
