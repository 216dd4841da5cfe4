import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  findingList,
  findProjectNumbers,
  keyList,
  type List,
  listBlindSpots,
  listInventoryHoles,
  operationList,
  type Principal,
  readOne,
  readPresent,
  reviewItemList,
  reviewList,
  revocationList,
  type Snapshot,
} from '@keywarden/db/report';
import type { Env, Services } from '../environment.ts';
import { contentTypes, encode, formats } from '../export/encode.ts';
import { readOperationHoles } from '../export/operation-holes.ts';
import {
  credentialFilters,
  findingFilters,
  keyFilters,
  operationFilters,
  revocationFilters,
  toCredentialFilter,
  toFindingFilter,
  toKeyFilter,
  toOperationFilter,
  toRevocationFilter,
} from '../filters.ts';
import { digits } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addRoute } from '../route.ts';
import { operationItem } from '../shapes/archive.ts';
import { findingItem, revocationItem } from '../shapes/governance.ts';
import { credentialItem, keyItem } from '../shapes/keys.ts';
import { reviewedKey, reviewItem } from '../shapes/reviews.ts';
import { requirePast } from './keys.ts';

interface Export<Q extends z.ZodRawShape> {
  name: string;
  summary: string;
  organizations: 'filtered' | 'all';
  filters: Q;
  item: z.ZodObject;
  /** What is exported, and what the trailer says of where that is not known: both as of the snapshot. */
  read: (
    snapshot: Snapshot,
    query: z.output<z.ZodObject<Q>>,
    principal: Principal,
  ) => Promise<{ list: List; more: object }>;
}

/** Everything that the lists show, as files: streamed, and ending in a line that proves them whole (P3). */
export function exportRoutes(app: OpenAPIHono<Env>, services: Services): void {
  addExport(app, services, {
    name: 'keys',
    summary: 'Keys as a file; with as_of those that there were at a past time',
    organizations: 'filtered',
    filters: keyFilters,
    item: keyItem,
    read: async (snapshot, query, { organizations }) => {
      const at = query.as_of ?? (await readPresent(snapshot));
      const holes = await listInventoryHoles(snapshot, { from: at, to: at, organizations });
      const blind_spots = await listBlindSpots(snapshot, organizations);
      return { list: keyList(toKeyFilter(query), { organizations }), more: { as_of: at, holes, blind_spots } };
    },
  });
  addExport(app, services, {
    name: 'credentials',
    summary: 'Credentials that are no API keys as a file; with as_of those that there were at a past time',
    organizations: 'filtered',
    filters: credentialFilters,
    item: credentialItem,
    read: async (snapshot, query, { organizations }) => {
      const at = query.as_of ?? (await readPresent(snapshot));
      const of = 'credentials';
      const holes = await listInventoryHoles(snapshot, { from: at, to: at, organizations, of });
      return { list: keyList(toCredentialFilter(query), { organizations, of }), more: { as_of: at, holes } };
    },
  });
  addExport(app, services, {
    name: 'findings',
    summary: 'Findings of a plan as a file',
    organizations: 'filtered',
    filters: findingFilters,
    item: findingItem,
    read: async (snapshot, query, { organizations }) => ({
      list: findingList(toFindingFilter(query), organizations),
      more: await holesNow(snapshot, organizations),
    }),
  });
  addExport(app, services, {
    name: 'revocations',
    summary: 'What was revoked, why and by whose word, as a file',
    organizations: 'filtered',
    filters: revocationFilters,
    item: revocationItem,
    read: (_snapshot, query, { organizations }) =>
      Promise.resolve({ list: revocationList(toRevocationFilter(query), organizations), more: { holes: [] } }),
  });
  addExport(app, services, {
    name: 'reviews',
    summary: 'The keys of one access review, or of all, with what was decided of each, as a file',
    organizations: 'all',
    filters: { review: digits.optional() },
    item: reviewedKey,
    read: async (snapshot, { review }) => {
      if (review === undefined) return { list: reviewItemList({}), more: { holes: [] } };
      const found = await readOne(snapshot, reviewList({ number: review }));
      if (found === undefined) throw notFound('review of this number', '/v1/reviews');
      const { state, signed_by, signed_at, sha256, as_of, holes } = reviewItem.parse(JSON.parse(found));
      return {
        list: reviewItemList({ review }),
        more: { as_of, state, signed_by, signed_at, review_sha256: sha256, holes },
      };
    },
  });
  addExport(app, services, {
    name: 'operations',
    summary: 'Operations as a file, newest first',
    organizations: 'filtered',
    filters: operationFilters,
    item: operationItem,
    read: async (snapshot, query, { organizations }) => {
      const filter = toOperationFilter(query);
      const projects = await findProjectNumbers(snapshot, { projectId: filter.projectId, organizations });
      return {
        list: operationList(filter, projects),
        more: await readOperationHoles(snapshot, { ...filter, organizations }),
      };
    },
  });
}

/** Where the inventory that findings rest on is not known now. */
async function holesNow(snapshot: Snapshot, organizations: string[] | null) {
  const at = await readPresent(snapshot);
  const holes = await listInventoryHoles(snapshot, { from: at, to: at, organizations });
  return { holes, blind_spots: await listBlindSpots(snapshot, organizations) };
}

function addExport<Q extends z.ZodRawShape>(
  app: OpenAPIHono<Env>,
  { db, streams }: Services,
  { name, summary, organizations, filters, item, read }: Export<Q>,
): void {
  addRoute(
    app,
    {
      path: `/v1/exports/${name}`,
      summary: `${summary}. Its last line has count, SHA-256 of all before it, and the holes; without it the file is cut`,
      access: { role: 'auditor', organizations },
      query: z.strictObject({ ...filters, format: z.enum(formats).default('ndjson') }),
      response: { contentTypes: Object.values(contentTypes) },
    },
    async ({ c, principal, query }) => {
      const asked = query as z.output<z.ZodObject<Q>> & { format: (typeof formats)[number]; as_of?: string };
      if (asked.as_of !== undefined) await requirePast(db, asked.as_of);
      return await streams.answer(c, {
        fileName: `keywarden-${name}.${asked.format}`,
        contentType: contentTypes[asked.format],
        async *write(snapshot) {
          const { list, more } = await read(snapshot, asked, principal);
          return yield* encode({ format: asked.format, item, batches: snapshot.stream(list), more });
        },
      });
    },
  );
}
