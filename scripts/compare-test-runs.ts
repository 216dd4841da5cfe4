import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

// Compares test runs by vitest's JSON reports: which tests stayed, moved to another file, were added or were removed. Also compares the number of
// assertions of each side. Usage: npx node scripts/compare-test-runs.ts BEFORE.json[,MORE.json] AFTER.json[,MORE.json]. Exits with 1 if a test was
// removed or the assertions decreased.

interface Report {
  testResults: {
    name: string;
    assertionResults: { fullName: string; status: string; meta?: { assertions?: number } }[];
  }[];
}

interface Test {
  file: string;
  assertions: number;
}

/** Reads the tests by name without figures, which a size may set: where each test is, most assertions first. */
function read(path: string): Map<string, Test[]> {
  // The caller names the files, and vitest wrote them.
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as Report;
  const tests = new Map<string, Test[]>();
  for (const { name, assertionResults } of testResults) {
    const file = relative('.', name).replace(/^.*?(?=(?:apps|db|packages|scripts)\/)/, '');
    for (const { fullName, status, meta } of assertionResults) {
      if (status !== 'passed') console.log(`${status}  ${file}: ${fullName}`);
      const key = fullName.replaceAll(/\d[\d,]*/g, '#');
      tests.set(key, [...(tests.get(key) ?? []), { file, assertions: meta?.assertions ?? 0 }]);
    }
  }
  return tests;
}

/** Merges the tests of several runs: a test in several runs counts once, at its largest size. */
function merge(runs: Map<string, Test[]>[]): Map<string, Test[]> {
  const merged = new Map<string, Test[]>();
  for (const run of runs) {
    for (const [name, tests] of run) {
      const known = merged.get(name) ?? [];
      const longer = tests.length > known.length ? tests : known;
      const shorter = longer === tests ? known : tests;
      merged.set(
        name,
        longer.map((test, index) =>
          (shorter[index]?.assertions ?? 0) > test.assertions ? (shorter[index] ?? test) : test,
        ),
      );
    }
  }
  return merged;
}

const [before, after] = ['2', '3'].map((at) => merge((process.argv[Number(at)] ?? '').split(',').map(read)));
if (before === undefined || after === undefined) throw new Error('two runs are needed');
const count = (tests: Map<string, Test[]>) => [...tests.values()].reduce((sum, each) => sum + each.length, 0);
const assertions = (tests: Map<string, Test[]>) =>
  [...tests.values()].flat().reduce((sum, test) => sum + test.assertions, 0);

const moves = new Map<string, number>();
let gone = 0;
for (const [name, tests] of before) {
  const now = after.get(name) ?? [];
  for (const { file } of tests.slice(now.length)) {
    console.log(`gone   ${file}: ${name}`);
    gone += 1;
  }
  for (const [index, { file }] of tests.slice(0, now.length).entries()) {
    const move = `${file} -> ${now[index]?.file}`;
    if (now[index]?.file !== file) moves.set(move, (moves.get(move) ?? 0) + 1);
  }
}
for (const [name, tests] of after) {
  for (const { file } of tests.slice(before.get(name)?.length ?? 0)) console.log(`new    ${file}: ${name}`);
}
for (const [move, tests] of moves) console.log(`moved  ${tests} tests: ${move}`);
console.log(`tests       ${count(before)} before, ${count(after)} after`);
console.log(`assertions  ${assertions(before)} before, ${assertions(after)} after`);
if (gone > 0 || assertions(after) < assertions(before)) process.exitCode = 1;
