import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  ledgerEventItem,
  ledgerEventList,
  listSealedProjects,
  makeReceipts,
  readPlacedEvents,
  readSignedTree,
} from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow, allowWhole, nameOf } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { section } from '../dashboard/html.ts';
import type { Pages } from '../dashboard/page.ts';
import type { Env, Services } from '../environment.ts';
import { originOf, writeSealedOperations } from '../evidence/sealed.ts';
import { instant, word } from '../parameters.ts';
import { conflict, notFound, Problem } from '../problem.ts';
import { addResource } from '../resource.ts';
import { addRoute, requireItem } from '../route.ts';

const day = z.iso.date();

/** Adds the events of the ledger with their receipts, and exports of operations that carry the receipts of their seals. */
export function addLedger(app: OpenAPIHono<Env>, pages: Pages, services: Services): void {
  const { db, streams, now } = services;
  addResource(app, pages, services, {
    name: 'ledger/events',
    summary: 'Events of the ledger, newest first',
    access: allowWhole('auditor'),
    item: ledgerEventItem,
    filters: {
      type: word.optional(),
      subject: word.optional().openapi({ description: 'The row that it is about: plan_approval/17' }),
      from: instant.optional().openapi({ description: 'Recorded at this instant or later' }),
      to: instant.optional().openapi({ description: 'Recorded before this instant' }),
    },
    list: ({ query }) => ledgerEventList(query),
    page: {
      title: 'Ledger',
      fields: {
        type: { label: 'Event', placeholder: 'plan.approved' },
        subject: { label: 'Row', placeholder: 'plan_approval/17' },
        from: 'From',
        to: 'Before',
      },
      columns: columnsFor(ledgerEventItem, {
        recorded_at: 'Recorded',
        type: 'Event',
        subject: 'Row',
        leaf_index: {
          label: 'Proof',
          cell: ({ number, leaf_index: index }) =>
            index === null
              ? 'waits for the daemon'
              : html`<a href="/v1/ledger/events/${number}/receipt" download>receipt</a>`,
        },
      }),
      empty: 'No event matches.',
      above: async () => {
        const tree = await readSignedTree(db);
        return section(
          'The signed tree',
          tree === null
            ? html`<p>The ledger has no signed checkpoint yet. The daemon with its key signs one within a minute.</p>`
            : html`<p>${originOf(tree)} has ${tree.size} events. <code>keywarden verify</code> checks a receipt without this report; its public key must
                  come from the operator, not from here.</p>
                <pre>${tree.note}</pre>`,
        );
      },
    },
  });
  addRoute(
    app,
    {
      path: '/v1/ledger/events/{event}/receipt',
      summary: 'The receipt of an event: one file that proves offline that the ledger has it (c2sp.org/tlog-proof)',
      access: allowWhole('auditor'),
      params: z.object({ event: z.string().regex(/^[1-9]\d{0,17}$/) }),
      response: { contentTypes: ['text/plain'] },
    },
    async ({ c, params: { event } }) => {
      await requireItem(db, ledgerEventList({ number: event }), ['event with this number', '/v1/ledger/events']);
      // One that a witness cosigned proves more, but the newest event may not be in it yet.
      const receipt = (await receiptOf(event, { isCosigned: true })) ?? (await receiptOf(event));
      if (receipt === undefined)
        throw conflict('The event is not in the signed tree yet; the daemon with its key adds it within a minute.');
      const headers = { 'content-disposition': `attachment; filename="keywarden-event-${event}.tlog-proof"` };
      return c.body(receipt, 200, { 'content-type': 'text/plain; charset=utf-8', ...headers });
    },
  );
  const receiptOf = async (event: string, options: { isCosigned?: boolean } = {}) => {
    const tree = await readSignedTree(db, options);
    if (tree === null) return undefined;
    const events = await readPlacedEvents(db, { numbers: [event], size: tree.size });
    return (await makeReceipts(db, events, tree))[0];
  };
  addRoute(
    app,
    {
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
    },
    async ({ c, principal, organizations, query: { project_id: projectId, from, to } }) => {
      if (!(from <= to)) throw new Problem(400, 'Bad parameter', 'from, to: the last day is before the first.');
      const projects = await listSealedProjects(db, { projectId, organizations });
      if (projectId !== undefined && projects.length === 0)
        throw notFound('project with this id and a seal', '/v1/projects');
      const end = new Date(Date.parse(to) + 86_400_000).toISOString().slice(0, 10);
      const fileName = `keywarden-operations-${projectId ?? 'all'}-${from}-${to}.zip`.replaceAll(/[^\w.-]/g, '_');
      const asked = { projects, from, to: end, madeAt: new Date(now()), madeBy: nameOf(principal), fileName };
      return await streams.answer(c, {
        fileName,
        contentType: 'application/zip',
        write: (snapshot) => writeSealedOperations(snapshot, asked),
      });
    },
  );
}
