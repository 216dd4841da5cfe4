import { expect, test } from 'vitest';
import { sized } from '../sized.ts';
import { amend, type Files, forge, linesOf, pack, unpack } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// An auditor verifies an archive with one program and reads it with others. Random changes of honest archives: what `verify` accepts, every other reader of
// ZIP and JSON must read as the honest archive.

usePacks();

/** Returns a small random generator of whole numbers below a bound. */
function randomOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state % below;
  };
}

/** Texts that readers of JSON take in different ways, and harmless spaces. */
const pieces = [
  '"',
  '\\',
  '{',
  '}',
  ',',
  ':',
  '0',
  '-',
  '.',
  'e',
  'null',
  ' ',
  '\t',
  '\r',
  '\u00A0',
  '\u2028',
  '\uFEFF',
  '\0',
  '00',
  '"x":1,',
];

/** Changes a text at a random place. */
function mutate(text: string, random: (below: number) => number): string {
  const at = random(text.length + 1);
  const piece = pieces[random(pieces.length)] ?? '';
  const numbers = [...text.matchAll(/: ?(-?\d+)(?=[,}\n])/g)];
  const strings = [...text.matchAll(/: ?"([^"\\]*)"/g)];
  const pick = (found: RegExpExecArray[]) => found[random(Math.max(found.length, 1))];
  const swap = (found: RegExpExecArray | undefined, by: string) =>
    found === undefined ? text : text.slice(0, found.index) + by + text.slice(found.index + found[0].length);
  const lines = linesOf(text);
  const line = random(Math.max(lines.length, 1));
  const number = pick(numbers);
  const string = pick(strings);
  return (
    [
      text.slice(0, at) + piece + text.slice(at),
      text.slice(0, at) + piece + text.slice(at + 1),
      text.slice(0, at) + text.slice(at + 1 + random(20)),
      swap(number, `:"${number?.[1] ?? ''}"`),
      swap(number, `:${number?.[1] ?? ''}.0`),
      swap(number, `: ${number?.[1] ?? ''}`),
      swap(string, `:${string?.[1] ?? ''}`),
      swap(string, ':null'),
      swap(string, `:["${string?.[1] ?? ''}"]`),
      `${lines.toSpliced(line, 1).join('\n')}\n`,
      `${lines.toSpliced(line, 0, lines[line] ?? '').join('\n')}\n`,
      text.replace(/\n$/, ''),
    ][random(12)] ?? text
  );
}

const jsonOf = (files: Files) =>
  Object.fromEntries(
    Object.entries(files)
      .filter(([name]) => name.endsWith('json'))
      .map(([name, text]) => [
        name,
        (name.endsWith('.ndjson') ? linesOf(text) : [text]).map((each) => JSON.parse(each) as unknown),
      ]),
  );

test('an archive of operations that is proven reads as the honest one everywhere', async () => {
  const { operations } = packs;
  const honest = jsonOf(operations);
  const names = Object.keys(operations).filter((name) => name !== 'VERIFY.md');
  const counts = { accepted: 0, refused: 0 };
  for (let seed = 1; seed <= sized(2000, 0.03); seed += 1) {
    const random = randomOf(seed);
    const name = names[random(names.length)] ?? '';
    const mutated = { ...operations, [name]: mutate(operations[name] ?? '', random) };
    // Some changes are of names: of a file, and in the manifest.
    const renamed = random(8) === 0 ? rename(mutated, random) : mutated;
    let files: Files = renamed;
    try {
      files = amend(renamed);
    } catch {
      // The manifest is no JSON any more.
    }
    const result = await packs.verify(files).catch(() => null);
    if (result?.rank !== 0) {
      counts.refused += 1;
      continue;
    }
    counts.accepted += 1;
    const read = unpack(pack(files));
    expect(Object.keys(read).toSorted(), `seed ${seed}`).toEqual(Object.keys(operations).toSorted());
    const { 'manifest.json': _ours, ...rows } = jsonOf(read);
    const { 'manifest.json': _theirs, ...honestRows } = honest;
    expect(rows, `seed ${seed}`).toEqual(honestRows);
  }
  // Spaces between values change nothing.
  expect(counts.accepted).toBeGreaterThan(0);
  expect(counts.refused).toBeGreaterThan(counts.accepted);
});

/** Gives a file another name that unpacks to the same or a similar place, in the archive and in its manifest. */
function rename(files: Files, random: (below: number) => number): Files {
  const names = Object.keys(files);
  const from = names[random(names.length)] ?? '';
  const to =
    [
      `./${from}`,
      from.replace('/', '//'),
      from.toUpperCase(),
      `${from}.`,
      `${from} `,
      `x/../${from}`,
      from.replace('/', '\\'),
    ][random(7)] ?? '';
  const { [from]: text = '', ...others } = files;
  const manifest = (others['manifest.json'] ?? '').replaceAll(`"${from}"`, JSON.stringify(to));
  return { ...others, ...(from !== 'manifest.json' && { 'manifest.json': manifest }), [to]: text };
}

test('the fields of evidence that an archive does not name as unproven read as the honest ones everywhere', async () => {
  const { evidence } = packs;
  const honest = jsonOf(evidence);
  const honestUnproven = unprovenOf(await packs.verify(evidence));
  const tables = Object.keys(evidence).filter((name) =>
    /-(revocations|exemptions|incidents|decisions|rotations|reviewed_keys|reviews)\.ndjson$/.test(name),
  );
  const counts = { accepted: 0, refused: 0 };
  for (let seed = 1; seed <= sized(400, 0.03); seed += 1) {
    const random = randomOf(seed);
    const name = tables[random(tables.length)] ?? '';
    const text = evidence[name] ?? '';
    const mutated = mutate(text, random);
    if (mutated === text) continue;
    const exact = new RegExp(`^${name.replaceAll(/[.()]/g, String.raw`\$&`)}$`);
    const files = forge(exact, () => mutated)(evidence);
    const result = await packs.verify(files).catch(() => null);
    if (result === null || result.rank === 2) {
      counts.refused += 1;
      continue;
    }
    counts.accepted += 1;
    const unproven = unprovenOf(result);
    if (unproven.some((each) => each.startsWith(name) && /without a receipt|do not show/.test(each))) continue;
    const left = [...unprovenFields(unproven, name), ...unprovenFields(honestUnproven, name)];
    const read = jsonOf(unpack(pack(files)));
    expect(without(read[name], left), `seed ${seed} of ${name}`).toEqual(without(honest[name], left));
  }
  expect(counts.accepted).toBeGreaterThan(0);
  expect(counts.refused).toBeGreaterThan(counts.accepted);
});

const unprovenOf = ({ words }: { words: string }) =>
  (JSON.parse(words) as { verdict: { unproven: string[] } }).verdict.unproven;

/** Returns the fields of a file that a verification names as unproven. */
function unprovenFields(unproven: string[], file: string): string[] {
  const start = 'these fields are not compared with the ledger, ';
  return unproven
    .filter((each) => each.startsWith(start) && each.includes(file))
    .flatMap((each) => each.slice(start.length, each.lastIndexOf(': ')).split(', '));
}

/** Returns rows without some fields, and members of fields. */
function without(rows: unknown[] | undefined, fields: string[]): unknown {
  const drop = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => drop(each, path));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !fields.includes(`${path}${name}`))
        .map(([name, each]) => [name, drop(each, `${path}${name}.`)]),
    );
  };
  return (rows ?? []).map((row) => drop(row, ''));
}
