import { crc32, deflateRawSync } from 'node:zlib';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { download, pack, verifyBytes } from './packs.ts';
import { operations, packs, period, usePacks } from './packs-fixture.ts';

// Archives that programs read in different ways.

usePacks();

const readInWays = expect.stringContaining('different programs read it in different ways');
const noArchive = expect.stringMatching(/different programs read it in different ways|it is no whole zip archive/);
test('an archive that programs read in different ways is refused', async () => {
  const whole = Buffer.from(pack(operations));
  const directory = whole.readUInt32LE(whole.length - 6);
  const [files, rest, end] = [whole.subarray(0, directory), whole.subarray(directory, -22), whole.subarray(-22)];
  // Another archive between the directory and the end, which some programs read instead.
  const twice = Buffer.concat([files, rest, files, rest, end]);
  const moved = Buffer.from(end);
  moved.writeUInt32LE(directory + 4, 16);
  const between = Buffer.concat([files, Buffer.from('junk'), rest, moved]);
  const renamed = Buffer.from(whole);
  renamed.write('manifesT', whole.indexOf('manifest.json'));
  const unicode = zipSync({
    ...unzipSync(whole),
    'other.txt': [strToU8('forged'), { extra: { 0x7075: strToU8('\u0001....operations/00001.ndjson') } }],
  });
  // The same, with a known field in the directory or in the header before the file; and with bytes behind the last field.
  const [inHeader, inDirectory, cut] = [0, 1, 2].map(() => Buffer.from(unicode));
  const name = Buffer.from('up\u001c\u0000');
  inHeader?.write('UT', inHeader.lastIndexOf(name));
  inDirectory?.write('UT', inDirectory.indexOf(name));
  for (const at of [cut?.indexOf(name) ?? 0, cut?.lastIndexOf(name) ?? 0]) cut?.write('UT', at);
  cut?.writeUInt16LE(25, cut.indexOf('UT\u001c\u0000') + 2);
  for (const bytes of [twice, between, renamed, unicode, inHeader, inDirectory, cut].flatMap((each) => each ?? []))
    expect(await verifyBytes(packs.folder, bytes, packs.fixture.ledger.publicKey)).toEqual({
      rank: 2,
      words: readInWays,
    });
  expect((await verifyBytes(packs.folder, whole, packs.fixture.ledger.publicKey)).rank).toBe(0);
});

test('an archive is proven as the report sends it; with other headers or bytes it is refused', async () => {
  const sent = Buffer.from(await download(packs.fixture, `/v1/exports/sealed-operations?${period}`));
  expect((await verifyBytes(packs.folder, sent, packs.fixture.ledger.publicKey)).rank).toBe(0);
  const whole = Buffer.from(pack(operations));
  const local = whole.indexOf('PK\u0003\u0004');
  const hiddenBehind = (deflated: Buffer) => {
    // The bytes of a file go on after it ends, and a program that reads on finds another file there.
    const text = Buffer.from('one\n');
    const data = Buffer.concat([deflateRawSync(text), deflated]);
    const head = Buffer.alloc(30);
    head.write('PK\u0003\u0004', 'latin1');
    for (const [at, value] of [
      [4, 20],
      [8, 8],
      [26, 5],
    ] as const)
      head.writeUInt16LE(value, at);
    for (const [at, value] of [
      [14, crc32(text)],
      [18, data.length],
      [22, text.length],
    ] as const)
      head.writeUInt32LE(value, at);
    const entry = Buffer.concat([
      Buffer.from('PK\u0001\u0002', 'latin1'),
      Buffer.from([20, 0]),
      head.subarray(4),
      Buffer.alloc(14),
      Buffer.from('a.txt'),
    ]);
    const files = Buffer.concat([head, Buffer.from('a.txt'), data]);
    const end = Buffer.alloc(22);
    end.write('PK\u0005\u0006', 'latin1');
    for (const at of [8, 10]) end.writeUInt16LE(1, at);
    end.writeUInt32LE(entry.length, 12);
    end.writeUInt32LE(files.length, 16);
    return Buffer.concat([files, entry, end]);
  };
  type Edit = [string, Buffer, (bytes: Buffer) => void];
  const edits: Edit[] = [
    ['a local header that hides its sizes', whole, (bytes) => bytes.fill(0, local + 14, local + 26)],
    ['a local header of a stream', whole, (bytes) => void bytes.writeUInt16LE(8, local + 6)],
    ['a local header of another method', whole, (bytes) => void bytes.writeUInt16LE(0, local + 8)],
    [
      'other sizes after a file',
      sent,
      (bytes) => bytes.fill(1, bytes.indexOf('PK\u0007\u0008') + 8, bytes.indexOf('PK\u0007\u0008') + 12),
    ],
    ['a link', whole, (bytes) => void bytes.writeUInt32LE(0o120777 * 2 ** 16, bytes.indexOf('PK\u0001\u0002') + 38)],
    [
      'a folder in the place of a file',
      whole,
      (bytes) => void bytes.writeUInt32LE(0o040755 * 2 ** 16 + 0x10, bytes.indexOf('PK\u0001\u0002') + 38),
    ],
    [
      'a folder of old programs',
      whole,
      (bytes) => void bytes.writeUInt32LE(0x10, bytes.indexOf('PK\u0001\u0002') + 38),
    ],
    [
      'a label in the place of a file',
      whole,
      (bytes) => void bytes.writeUInt32LE(0x08, bytes.indexOf('PK\u0001\u0002') + 38),
    ],
    ['a file of a newer form', whole, (bytes) => void bytes.writeUInt16LE(63, bytes.indexOf('PK\u0001\u0002') + 6)],
    ['a local header of a newer form', whole, (bytes) => void bytes.writeUInt16LE(63, local + 4)],
    ...(
      [
        ['a file that is encrypted', 0x1],
        ['a file that changes another', 0x20],
        ['a file whose header is hidden', 0x2000],
      ] as const
    ).map(
      ([what, flag]): Edit => [
        what,
        whole,
        (bytes) => {
          for (const at of [local + 6, bytes.indexOf('PK\u0001\u0002') + 8]) bytes.writeUInt16LE(flag, at);
        },
      ],
    ),
    [
      'another checksum in both headers',
      whole,
      (bytes) => {
        for (const at of [local + 14, bytes.indexOf('PK\u0001\u0002') + 16]) bytes.writeUInt32LE(1, at);
      },
    ],
    ['a file of another disk', whole, (bytes) => void bytes.writeUInt16LE(1, bytes.indexOf('PK\u0001\u0002') + 34)],
    ['another number of files', whole, (bytes) => void bytes.writeUInt16LE(1, bytes.length - 14)],
    ['something behind a file', hiddenBehind(Buffer.from('more')), () => undefined],
  ];
  for (const [what, from, change] of edits) {
    const bytes = Buffer.from(from);
    change(bytes);
    const found = await verifyBytes(packs.folder, bytes, packs.fixture.ledger.publicKey);
    expect(found, `with ${what}`).toEqual({ rank: 2, words: noArchive });
  }
  const hidden = await verifyBytes(packs.folder, hiddenBehind(Buffer.from('more')), packs.fixture.ledger.publicKey);
  expect(hidden.words).toContain('a.txt has other bytes than its directory says');
  const twice = Buffer.from(pack({ ...operations, 'VERIFY.mx': '' }));
  for (let at = twice.indexOf('VERIFY.mx'); at >= 0; at = twice.indexOf('VERIFY.mx')) twice.write('VERIFY.md', at);
  const found = await verifyBytes(packs.folder, twice, packs.fixture.ledger.publicKey);
  expect(found).toEqual({ rank: 2, words: expect.stringContaining('it has VERIFY.md twice') });
  const plain = await verifyBytes(packs.folder, hiddenBehind(Buffer.alloc(0)), packs.fixture.ledger.publicKey);
  expect(plain.words).toContain('it has no file manifest.json');
});

test('an archive that a file manager or another method has packed again is refused with what to do', async () => {
  const files = unzipSync(pack(operations));
  const refusal = async (bytes: Uint8Array) =>
    (await verifyBytes(packs.folder, bytes, packs.fixture.ledger.publicKey)).words;
  for (const added of ['.DS_Store', 'operations/.DS_Store', '__MACOSX/._manifest.json'])
    expect(await refusal(zipSync({ ...files, [added]: strToU8('x') }))).toContain(
      `["a file manager has added ${added}; check the archive that the report gave out`,
    );
  const bzip2 = Buffer.from(pack(operations));
  for (const [mark, method] of [
    ['PK\u0003\u0004', 8],
    ['PK\u0001\u0002', 10],
  ] as const)
    bzip2.writeUInt16LE(12, bzip2.indexOf(mark) + method);
  expect(await refusal(bzip2)).toContain(' is compressed by another method than deflate; check the archive');
});

test.each([
  'operations//00001.ndjson',
  './operations/00001.ndjson',
  'OPERATIONS/00001.ndjson',
  'operations/00001.ndjson.',
  'operations\\00001.ndjson',
  'operations',
  'a b',
  'a'.repeat(501),
])('a file %s, which unpacks in the place of another or under another name, is refused', async (name) => {
  expect(await packs.verify({ ...operations, [name]: '' })).toEqual({ rank: 2, words: noArchive });
});

test('an archive that was packed again with entries of its folders is proven, and one with something in the place of a folder is not', async () => {
  const sent = unzipSync(pack(operations));
  const withFolders = (folders: Record<string, string>, attrs = (0o040755 << 16) | 0x10) =>
    zipSync({
      ...Object.fromEntries(Object.entries(folders).map(([name, text]) => [name, [strToU8(text), { attrs, os: 3 }]])),
      ...sent,
    });
  const verify = async (bytes: Uint8Array) => await verifyBytes(packs.folder, bytes, packs.fixture.ledger.publicKey);
  expect((await verify(withFolders({ 'seals/': '', 'operations/': '' }))).rank).toBe(0);
  for (const bytes of [
    ...['manifest.json/', 'MANIFEST.JSON/', './', '/', 'a//', '../', 'manifest.json/a/'].map((name) =>
      withFolders({ [name]: '' }),
    ),
    withFolders({ 'seals/': 'forged' }),
    withFolders({ 'seals/': '' }, 0o120777 << 16),
    withFolders({ 'seals/': '', 'Seals/': '' }),
  ])
    expect(await verify(bytes)).toEqual({ rank: 2, words: noArchive });
});
