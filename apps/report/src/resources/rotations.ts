import { z } from '@hono/zod-openapi';
import * as store from '@keywarden/db/report';
import { allow } from '../access/roles.ts';
import { requireSink } from '../actions/reviews.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { firstRows, type Part, section } from '../dashboard/html.ts';
import { type Report, readParameter, readReason } from '../dashboard/page.ts';
import { digits, flag, range, reason } from '../parameters.ts';
import { conflict } from '../problem.ts';
import { addResource } from '../resource.ts';
import { addList, addRoute, requireItem, requireOne } from '../route.ts';

const access = allow('viewer');

export const rotationColumns = columnsFor(store.rotationItem, {
  id: 'Rotation',
  key: 'Key',
  successor_id: 'Successor',
  state: 'State',
  since: 'Since',
  sink: 'Sink',
  requested_by: 'Requested by',
  why: 'Why',
});

const requestColumns = columnsFor(store.rotationRequestItem, {
  requested_at: 'Requested',
  key: 'Key',
  requested_by: 'Requested by',
  reason: 'Why',
  why_not: {
    label: 'Answer',
    cell: ({ rotation_id: rotation, why_not: whyNot }) =>
      rotation === null ? (whyNot ?? 'waiting for the daemon’s next pass') : `rotation ${rotation}`,
  },
});

/** Adds rotations, and requests for rotations. */
export function addRotations(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'rotations',
    summary: 'Rotations, newest first: the state of each, and its history',
    access,
    item: store.rotationItem,
    filters: {
      state: store.rotationItem.shape.state.optional(),
      open: flag.optional().openapi({ description: 'true: only open rotations; false: only ended ones' }),
      key: digits.optional().openapi({ description: 'Rotations of this key or of another key in its key lineage' }),
      ...range,
    },
    list: ({ query, organizations }) => store.rotationList(query, organizations),
    page: {
      title: 'Rotations',
      fields: { state: 'State', open: 'Open' },
      columns: rotationColumns,
      proof: 'rotation',
      empty: 'There is no rotation here yet. Request one on the page of a key.',
      below: async ({ principal: { organizations } }) => {
        const requests = await requestPart(db, {}, organizations);
        return requests === '' ? '' : section('Rotation requests', requests);
      },
    },
  });
  addRoute(report, {
    path: '/v1/rotations/{rotation_id}',
    summary: 'One rotation',
    access,
    params: z.object({ rotation_id: z.string().regex(/^[a-z0-9]{8}$/) }),
    response: store.rotationItem,
    handle: async ({ params: { rotation_id: id }, organizations }) =>
      await requireOne(db, store.rotationList({ id }, organizations), ['rotation with this id', '/v1/rotations']),
  });
  addList(report, {
    path: '/v1/rotation-requests',
    summary: 'Rotation requests made through the report, newest first, with the answers of the daemon',
    access,
    filters: { key: digits.optional() },
    item: store.rotationRequestItem,
    list: ({ query, organizations }) => store.rotationRequestList(query, organizations),
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/rotation-requests',
    summary: 'Requests a rotation of a key; the daemon answers in its next pass',
    access: allow('operator'),
    body: z
      .strictObject({ key: digits.openapi({ description: "The key's number in Keywarden" }), reason })
      .openapi('NewRotationRequest'),
    response: store.rotationRequestItem,
    status: 202,
    handle: async ({ body, principal, organizations }) => {
      const number = await requestRotation(report, { principal, ...body });
      const list = store.rotationRequestList({ key: body.key, number }, organizations);
      return await requireOne(db, list, ['request with this number', '/v1/rotation-requests']);
    },
  });
  report.form('/keys/:key/rotation', allow('operator'), async ({ c, principal }, sent) => {
    const key = readParameter(c, 'key', digits);
    await requestRotation(report, { principal, key, reason: readReason(sent) });
    return { to: `/keys/${key}`, flash: 'requested' };
  });
}

/** Returns rotation requests as a table, or an empty text if there are none. */
export async function requestPart(
  db: store.Reader,
  of: { key?: string },
  organizations: string[] | null,
): Promise<Part> {
  const items = await store.readItems(db, store.rotationRequestList(of, organizations), 51);
  if (items.length === 0) return '';
  return firstRows({ caption: 'Rotation requests', items, empty: '', columns: requestColumns }, 50);
}

/** Requests a rotation on behalf of the principal and returns the request's number. Throws a Problem for a key that is gone. */
async function requestRotation(
  { db, sql, marks }: Report,
  { principal, key, reason }: { principal: store.Principal; key: string; reason: string },
): Promise<string> {
  const list = store.keyList({ number: key }, { organizations: principal.organizations });
  const { state } = await requireItem(db, list, [`key with number ${key}`, '/v1/keys']);
  if (state === 'gone') throw conflict('This key is gone; there is nothing to rotate.');
  await requireSink(db, [key]);
  return await marks.around(async () => await store.requestRotation(sql, { key, principal, reason }));
}
