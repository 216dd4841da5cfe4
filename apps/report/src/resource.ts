import { z } from '@hono/zod-openapi';
import type { LedgerRecordKind } from '@keywarden/db/report';
import { html } from 'hono/html';
import type { Access } from './access/roles.ts';
import { withProof } from './dashboard/columns.ts';
import type { Column, Part } from './dashboard/html.ts';
import { type ListPart, listPart, type Report, type Visit } from './dashboard/page.ts';
import { contentTypes, encode, formats } from './export/encode.ts';
import { camelled, type ListQuery } from './parameters.ts';
import { addList, addRoute } from './route.ts';

/** One declaration of a resource: the list /v1/NAME, the page /NAME and the file /v1/exports/NAME. */
export interface Resource<S extends z.ZodObject, F extends z.ZodRawShape = z.ZodRawShape, O extends string = never>
  extends Pick<ListPart<S, F, O>, 'item' | 'filters' | 'sorts' | 'list'> {
  name: string;
  summary: string;
  access: Access;
  /** Throws a Problem for an invalid query. */
  check?: (request: ListQuery<F, O>) => Promise<void>;
  /** Further fields beside `items`. */
  more?: { shape: z.ZodRawShape; read: (request: ListQuery<F, O>) => Promise<object | undefined> };
  page?: Pick<ListPart<S, F, O>, 'fields' | 'empty' | 'unmatched'> & {
    title: string;
    columns: Column<z.output<S>>[] | ((visit: Visit) => Column<z.output<S>>[]);
    /** The kind of its records in the ledger: rows then link their events, for those who may see them. */
    proof?: 'id' extends keyof z.output<S> ? LedgerRecordKind : never;
    above?: (visit: Visit) => Promise<Part>;
    below?: (visit: Visit) => Part | Promise<Part>;
  };
  file?: {
    summary: string;
    /** Throws a Problem if the file would claim to be all of something that does not exist. */
    check?: (request: ListQuery<F>) => Promise<void>;
    /** Returns further fields of the file's last line, beside its count: the coverage gaps. */
    trailer: (request: ListQuery<F, O>) => Promise<object>;
  };
}

/** Adds the list, the page and the file that a resource declares. */
export function addResource<S extends z.ZodObject, F extends z.ZodRawShape, O extends string = never>(
  report: Report,
  resource: Resource<S, F, O>,
): void {
  const { name, summary, access, item, filters, sorts, check, more, page, file } = resource;
  const list = async (request: ListQuery<F, O>) => {
    await check?.(request);
    return await resource.list(request);
  };
  addList(report, { path: `/v1/${name}`, summary, access, item, filters, sorts, list, more });
  if (page !== undefined)
    report.page(`/${name}`, access, async (visit) => {
      const { title, columns, proof, above, below, ...shown } = page;
      const listColumns = typeof columns === 'function' ? columns(visit) : columns;
      const body = await listPart(visit, report, {
        ...shown,
        item,
        filters,
        sorts,
        list,
        caption: title,
        columns: proof === undefined ? listColumns : withProof(visit, proof, listColumns),
        exported: file && name,
      });
      return { title, body: html`${await above?.(visit)}${body}${await below?.(visit)}` };
    });
  if (file !== undefined) addFile(report, { name, access, filters, item, check, list: resource.list, ...file });
}

interface ListFile<S extends z.ZodObject, F extends z.ZodRawShape>
  extends Pick<Resource<S, F>, 'name' | 'summary' | 'access' | 'filters' | 'item' | 'list'>,
    Pick<NonNullable<Resource<S, F>['file']>, 'trailer'> {
  check?: Resource<S, F>['check'] | undefined;
}

/** Adds the export of a list: a streamed file that ends with a line that proves it complete (P3). */
export function addFile<S extends z.ZodObject, F extends z.ZodRawShape>(
  report: Report,
  { name, summary, access, filters, item, check, list, trailer }: ListFile<S, F>,
): void {
  const { db, streams } = report;
  addRoute(report, {
    path: `/v1/exports/${name}`,
    summary: `${summary}. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut`,
    access: { ...access, role: 'auditor' },
    query: z.strictObject({ ...filters, format: z.enum(formats).default('ndjson') }),
    response: { contentTypes: Object.values(contentTypes) },
    handle: async ({ c, organizations, query }) => {
      const { format, ...rest } = query as z.output<z.ZodObject<F>> & { format: (typeof formats)[number] };
      const request = { query: camelled(rest) as ListQuery<F>['query'], organizations };
      await check?.({ db, ...request });
      return await streams.answer(c, {
        fileName: `keywarden-${name}.${format}`,
        contentType: contentTypes[format],
        async *write(snapshot) {
          const of = { db: snapshot, ...request };
          const more = await trailer(of);
          return yield* encode({ format, item, batches: snapshot.stream(await list(of)), more });
        },
      });
    },
  });
}
