import type { ProvenEvent } from '@keywarden/core/ledger';
import { z } from 'zod';
import type { Archive } from './archive.ts';
import { readLine } from './operations-pack.ts';
import { type Judge, judgeReceipt, type Verdict } from './verdict.ts';

const filePart = z.object({ file: z.string(), records: z.int(), sha256: z.string() });
const manifestSchema = z.object({
  from: z.string(),
  to: z.string(),
  files: z.array(
    z.object({
      ...filePart.shape,
      csv: z.object({ file: z.string(), sha256: z.string() }),
      not_assessable: z
        .object({ ...filePart.shape, csv: z.object({ file: z.string(), sha256: z.string() }) })
        .nullable(),
    }),
  ),
  attachments: z.array(filePart),
});

type Row = Record<string, unknown>;

/** How the rows of a table are found in the ledger: fields of a row, and the members of an event that they must equal. */
interface Binding {
  table: RegExp;
  events: {
    type: string;
    subject: (row: Row) => string | null;
    fields: Record<string, string>;
  }[];
}

/** Returns a value of a row as the ledger records it: as text. */
const text = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

const bindings: Binding[] = [
  {
    table: /-revocations\.ndjson$/,
    events: [
      {
        type: 'revocation.intended',
        subject: ({ id }) => `revocation_intent/${text(id)}`,
        fields: {
          plan_id: 'plan_id',
          connection: 'connection',
          policy_sha256: 'policy_sha256',
          intended_at: 'created_at',
          judged_at: 'judged_at',
        },
      },
      {
        type: 'revocation.ended',
        subject: ({ id, outcome }) => (outcome === 'open' ? null : `revocation_outcome/${text(id)}`),
        fields: { outcome: 'outcome', ended_at: 'at', used_in_flight: 'used_in_flight' },
      },
    ],
  },
  {
    table: /-exemptions\.ndjson$/,
    events: [
      {
        type: 'exemption.granted',
        subject: ({ id }) => `exemption/${text(id)}`,
        fields: {
          granted_at: 'granted_at',
          until: 'until',
          pattern: 'pattern',
          reason: 'reason',
          granted_by: 'granted_by',
        },
      },
      {
        type: 'exemption.ended',
        subject: ({ id, ended_at: at }) => (at === null ? null : `exemption/${text(id)}`),
        fields: { ended_at: 'ended_at', ended_by: 'ended_by' },
      },
    ],
  },
  {
    table: /-incidents\.ndjson$/,
    events: [
      {
        type: 'incident.opened',
        subject: ({ id }) => `incident/${text(id)}`,
        fields: { kind: 'kind', opened_at: 'opened_at' },
      },
      {
        type: 'incident.closed',
        subject: ({ id, closed_at: at }) => (at === null ? null : `incident/${text(id)}`),
        fields: { closed_at: 'closed_at', closed_by: 'closed_by', note: 'note' },
      },
    ],
  },
  {
    table: /^reviews\/signatures\.ndjson$/,
    events: [
      {
        type: 'review.opened',
        subject: ({ id }) => `review/${text(id)}`,
        fields: { as_of: 'as_of', plan_id: 'plan_id', opened_at: 'opened_at', title: 'title', opened_by: 'opened_by' },
      },
      {
        type: 'review.signed',
        subject: ({ id, signed_at: at }) => (at === null ? null : `review_signature/${text(id)}`),
        fields: { signed_at: 'signed_at', sha256: 'sha256', signed_by: 'signed_by' },
      },
    ],
  },
];

/**
 * Checks an evidence archive: each file against the manifest, each receipt against the ledger, and the rows of revocations, exemptions, incidents and
 * signed reviews against their events. Everything else is computed from listings, which the ledger does not have.
 */
export async function verifyEvidence(archive: Archive, manifest: unknown, judge: Judge): Promise<Verdict> {
  const verdict: Verdict = { proven: [], unproven: [], wrong: [] };
  const read = manifestSchema.safeParse(manifest);
  if (!read.success) return { ...verdict, wrong: ['its manifest.json has an unknown form'] };
  const { files, attachments } = read.data;
  const listed = [
    ...files.flatMap(({ file, sha256, csv, not_assessable: unknown }) => [
      { file, sha256 },
      csv,
      ...(unknown === null ? [] : [{ file: unknown.file, sha256: unknown.sha256 }, unknown.csv]),
    ]),
    ...attachments,
  ];
  for (const { file, sha256 } of listed) {
    const found = await archive.hash(file).catch(() => null);
    if (found !== sha256) verdict.wrong.push(`${file} is not the file that manifest.json names`);
  }
  const names = new Set([...listed.map(({ file }) => file), 'manifest.json', 'summary.md', 'summary.html']);
  for (const name of archive.names) if (!names.has(name)) verdict.wrong.push(`${name} is not in manifest.json`);
  if (verdict.wrong.length > 0) return verdict;
  const events = await readReceipts(archive, judge, verdict);
  const tables = [...files, ...attachments].map(({ file }) => file);
  for (const file of tables) {
    const binding = bindings.find(({ table }) => table.test(file));
    if (binding !== undefined) await compareRows(archive, { file, binding, events, verdict });
    else if (file.endsWith('.ndjson') && file !== receiptsFile)
      verdict.unproven.push(`${file}: the ledger does not have what it is computed from`);
  }
  return verdict;
}

const receiptsFile = 'ledger/receipts.ndjson';

/** Reads the proven events, by type and subject; of several, the newest. */
async function readReceipts(archive: Archive, judge: Judge, verdict: Verdict): Promise<Map<string, ProvenEvent>> {
  const events = new Map<string, ProvenEvent>();
  if (!archive.names.includes(receiptsFile)) {
    verdict.unproven.push('it has no receipts');
    return events;
  }
  let [count, last] = [0, -1];
  await archive.eachLine(receiptsFile, (line) => {
    const receipt = readLine(line);
    const event = receipt === null ? 'it is no receipt' : judgeReceipt(receipt, judge);
    if (typeof event === 'string') verdict.wrong.push(`a line of ${receiptsFile} is not proven: ${event}`);
    else if (event.index <= last) verdict.wrong.push(`${receiptsFile} is not in the order of the ledger`);
    else {
      last = event.index;
      count += 1;
      events.set(`${event.type} ${event.subject}`, event);
    }
  });
  verdict.proven.push(`${count} governance events are in the ledger, up to event ${last}`);
  return events;
}

async function compareRows(
  archive: Archive,
  {
    file,
    binding,
    events,
    verdict,
  }: { file: string; binding: Binding; events: Map<string, ProvenEvent>; verdict: Verdict },
): Promise<void> {
  let [rows, unproven] = [0, 0];
  await archive.eachLine(file, (line) => {
    const row = JSON.parse(line) as Row;
    const found = binding.events.map((each) => compareRow(row, each, events));
    const differing = found.find((each) => each.startsWith('differs'));
    if (differing !== undefined) verdict.wrong.push(`${file}: the row ${text(row.id) ?? ''} ${differing}`);
    else if (found.includes('unproven')) unproven += 1;
    else rows += 1;
  });
  if (unproven > 0) verdict.unproven.push(`${file}: ${unproven} rows have no receipt`);
  verdict.proven.push(`${file}: ${rows} rows are what the ledger recorded`);
}

function compareRow(
  row: Row,
  { type, subject, fields }: Binding['events'][number],
  events: Map<string, ProvenEvent>,
): 'same' | 'unproven' | `differs${string}` {
  const about = subject(row);
  if (about === null) return 'same';
  const event = events.get(`${type} ${about}`);
  if (event === undefined) return 'unproven';
  for (const [field, member] of Object.entries(fields)) {
    const recorded = event.personal[member] ?? event.content[member] ?? null;
    // Erased personal data is not shown, and nothing can be said about it.
    if (typeof recorded === 'object' && recorded !== null) continue;
    if (recorded !== text(row[field])) return `differs from the ledger in ${field}`;
  }
  return 'same';
}
