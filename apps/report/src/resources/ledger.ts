import { z } from '@hono/zod-openapi';
import { parseProof, parseVerifier, splitNote, verifyReceipt } from '@keywarden/core/ledger';
import { addDays } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import type { Context } from 'hono';
import { html } from 'hono/html';
import { allow, allowWhole } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { facts, link, type Part, section, state, time } from '../dashboard/html.ts';
import { type Report, readParameter } from '../dashboard/page.ts';
import { mostFiles } from '../evidence/files.ts';
import { originOf, writeSealedOperations } from '../evidence/sealed.ts';
import { instant, word } from '../parameters.ts';
import { conflict, notFound, Problem } from '../problem.ts';
import { addResource } from '../resource.ts';
import { addRoute, type Missing, requireItem } from '../route.ts';
import type { Env } from '../services.ts';

const day = z.iso.date();
const eventNumber = z.string().regex(/^[1-9]\d{0,17}$/);
/** A record of the report: `plan/p-123`. */
const record = z
  .string()
  .regex(new RegExp(`^(${store.ledgerRecordKinds.join('|')})/[\\w-]{1,40}$`))
  .transform((text) => {
    const [kind, id = ''] = text.split('/');
    return { kind: z.enum(store.ledgerRecordKinds).parse(kind), id };
  });
const missing: Missing = ['event with this number', '/v1/ledger/events'];

/** Adds the events of the ledger with their receipts, and exports of operations that carry the receipts of their seals. */
export function addLedger(report: Report): void {
  addEvents(report);
  addReceipts(report);
  addSealedOperations(report);
}

function addEvents(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'ledger/events',
    summary: 'Events of the ledger, newest first',
    access: allowWhole('auditor'),
    item: store.ledgerEventItem,
    filters: {
      type: word.optional(),
      subject: word.optional().openapi({ description: 'The row that it is about: plan_approval/17' }),
      about: record.optional().openapi({
        description: `A record with everything that belongs to it, such as a plan with its approvals: plan/p-123. Kinds: ${store.ledgerRecordKinds.join(', ')}`,
      }),
      from: instant.optional().openapi({ description: 'Recorded at this instant or later' }),
      to: instant.optional().openapi({ description: 'Recorded before this instant' }),
    },
    list: ({ query }) => store.ledgerEventList(query),
    page: {
      title: 'Ledger',
      fields: {
        type: { label: 'Event', placeholder: 'plan.approved' },
        subject: { label: 'Row', placeholder: 'plan_approval/17' },
        about: { label: 'Record', placeholder: 'plan/p-123' },
        from: 'From',
        to: 'Before',
      },
      columns: columnsFor(store.ledgerEventItem, {
        recorded_at: 'Recorded',
        type: 'Event',
        subject: 'Row',
        leaf_index: {
          label: 'Proof',
          cell: ({ number, leaf_index: index }) =>
            index === null ? 'waits for the daemon' : link(`/ledger/events/${number}`, 'proof'),
        },
      }),
      empty: 'No event matches.',
      above: async () => {
        const tree = await store.readSignedTree(db);
        return section(
          'The signed tree',
          tree === null
            ? html`<p>The ledger has no signed checkpoint yet. The daemon with its key signs one within a minute.</p>`
            : html`<p>${originOf(tree)} has ${tree.size.toLocaleString('en')} events. <code>keywarden verify</code> checks a receipt without this report; its public key must
                  come from the operator, not from here.</p>
                <pre>${tree.note}</pre>`,
        );
      },
    },
  });
}

function addReceipts(report: Report): void {
  const { db } = report;
  const answerReceipt = async (c: Context<Env>, { event, fileName }: { event: string; fileName: string }) => {
    const receipt = await store.readReceipt(db, event);
    if (receipt === null)
      throw conflict('The event is not in the signed tree yet; the daemon with its key adds it within a minute.');
    const headers = { 'content-disposition': `attachment; filename="${fileName}"` };
    return c.body(receipt, 200, { 'content-type': 'text/plain; charset=utf-8', ...headers });
  };
  addRoute(report, {
    path: '/v1/ledger/events/{event}/receipt',
    summary: 'The receipt of an event: one file that proves offline that the ledger has it (c2sp.org/tlog-proof)',
    access: allowWhole('auditor'),
    params: z.object({ event: eventNumber }),
    response: { contentTypes: ['text/plain'] },
    handle: async ({ c, params: { event } }) => {
      await requireItem(db, store.ledgerEventList({ number: event }), missing);
      return await answerReceipt(c, { event, fileName: `keywarden-event-${event}.tlog-proof` });
    },
  });
  addRoute(report, {
    path: '/v1/exports/{sha256}/receipt',
    summary:
      'The receipt of a file that this report has exported, by the SHA-256 of its bytes. `keywarden verify FILE RECEIPT` proves that the file is as it was exported',
    access: allowWhole('auditor'),
    params: z.object({ sha256: z.string().regex(/^[\da-f]{64}$/) }),
    response: { contentTypes: ['text/plain'] },
    handle: async ({ c, params: { sha256 } }) => {
      const list = store.ledgerEventList({ type: 'export.completed', subject: `report_export/${sha256}` });
      const { number } = await requireItem(db, list, ['export of a file with this SHA-256', '/v1/ledger/events']);
      return await answerReceipt(c, { event: number, fileName: `keywarden-export-${sha256.slice(0, 16)}.tlog-proof` });
    },
  });
  report.page('/ledger/events/:event', allowWhole('auditor'), async ({ c }) => {
    const event = readParameter(c, 'event', eventNumber);
    const found = await requireItem(db, store.ledgerEventList({ number: event }), missing);
    const receipt = await store.readReceipt(db, event);
    const keys = (await store.listLedgerKeys(db)).flatMap(({ publicKey }) => parseVerifier(publicKey) ?? []);
    const proven = receipt === null ? 'the event waits for the daemon with the key' : verifyReceipt(receipt, keys);
    const isProven = typeof proven !== 'string';
    const shown: [string, Part][] = isProven
      ? [
          ['Position', `event ${proven.index}, counted from 0, of the ${proven.size} in ${proven.origin}`],
          ['Time of the row', time(proven.at)],
          ['Witnesses (not checked here)', namesOfWitnesses(receipt ?? '', proven.origin)],
          ...Object.entries({ ...proven.content, ...proven.personal }).map(([name, value]): [string, Part] => [
            name,
            typeof value === 'string' ? value : value === null ? '' : 'only its hash is recorded',
          ]),
        ]
      : [];
    return {
      title: `Event ${event}`,
      body: html`${section(
        `${found.type} of ${found.subject}`,
        html`<p>${isProven ? state('verified') : state('not_verified')}
            ${isProven ? '' : `Not proven: ${proven}.`}
            ${receipt === null ? '' : html`This report checked the receipt with the key in its own store. An auditor checks it with <code>keywarden verify</code> and a key from elsewhere.`}</p>
          ${facts([['Recorded', time(found.recorded_at)], ...shown])}
          ${receipt === null ? '' : html`<p><a href="/v1/ledger/events/${event}/receipt" download>Download the receipt</a></p><pre>${receipt}</pre>`}`,
      )}`,
    };
  });
}

/** Returns who cosigned the checkpoint of a receipt, by name: the store does not have the keys of witnesses. */
function namesOfWitnesses(receipt: string, origin: string): string {
  const lines = splitNote(parseProof(receipt)?.checkpoint ?? '')?.lines ?? [];
  return lines.flatMap(({ name }) => (name === origin ? [] : [name])).join(', ') || 'none';
}

function addSealedOperations(report: Report): void {
  const { db, streams, now } = report;
  addRoute(report, {
    path: '/v1/exports/sealed-operations',
    summary:
      'The operations of projects and days with the receipts of their seals, as a zip archive that `keywarden verify` checks offline',
    access: allow('auditor'),
    query: z.strictObject({
      project_id: word.optional(),
      from: day.openapi({ description: 'The first day' }),
      to: day.openapi({ description: 'The last day' }),
    }),
    response: { contentTypes: ['application/zip'] },
    handle: async ({ c, organizations, query: { project_id: projectId, from, to } }) => {
      const end = addDays(to, 1);
      const projects = await store.listSealedProjects(db, { projectId, organizations, from, to: end });
      if (projectId !== undefined && projects.length === 0)
        throw notFound('project with this id and a seal, and a day in this period', '/v1/projects');
      // Two files for each, and three beside them.
      if (projects.length > (mostFiles - 3) / 2)
        throw new Problem(
          400,
          'Too many projects',
          `An archive has the operations of at most ${Math.floor((mostFiles - 3) / 2)} projects, and ${projects.length} have seals; use a token of fewer organizations, or project_id.`,
        );
      const fileName = `keywarden-operations-${projectId ?? 'all'}-${from}-${to}.zip`.replaceAll(/[^\w.-]/g, '_');
      const request = { projects, from, to: end, madeAt: new Date(now()), fileName };
      return await streams.answer(c, {
        fileName,
        contentType: 'application/zip',
        write: (snapshot) => writeSealedOperations(snapshot, request),
      });
    },
  });
}
