import { createHash } from 'node:crypto';
import type { z } from '@hono/zod-openapi';
import type { Ending } from '../services.ts';
import { createCsvWriter } from './csv.ts';

export const formats = ['ndjson', 'csv', 'json'] as const;
export type Format = (typeof formats)[number];

export const contentTypes: Record<Format, string> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
};

/** The last line of an export, which proves it complete (P3). */
export interface Trailer {
  complete: true;
  count: number;
  /** The hash of every byte before the last line. */
  sha256: string;
  [more: string]: unknown;
}

export interface Encoding {
  format: Format;
  /** The schema of an item; CSV has a column for each of its fields. */
  item: z.ZodObject;
  /** Batches of items, as JSON texts. */
  batches: AsyncIterable<string[]>;
  /** Further fields of the trailer, beside count and hash: the coverage gaps. */
  more: object;
}

/** Yields an export by lines and returns its last, which proves it complete: `head -n -1 FILE | sha256sum` prints its hash. */
export async function* encode({ format, item, batches, more }: Encoding): AsyncGenerator<Uint8Array, Ending> {
  const hash = createHash('sha256');
  const { head, line, end } = writers[format](item);
  const hashed = (text: string): Uint8Array => {
    const bytes = Buffer.from(text);
    hash.update(bytes);
    return bytes;
  };
  let count = 0;
  if (head !== '') yield hashed(head);
  for await (const items of batches) {
    if (items.length === 0) continue;
    yield hashed(line(items, count === 0));
    count += items.length;
  }
  if (format === 'json' && count > 0) yield hashed('\n');
  const trailer: Trailer = { complete: true, count, sha256: hash.digest('hex'), ...more };
  return { last: Buffer.from(end(trailer)), records: count, sha256: trailer.sha256 };
}

interface Writer {
  head: string;
  /** Returns the lines of a batch; `isFirst` marks the first batch. */
  line: (items: string[], isFirst: boolean) => string;
  end: (trailer: Trailer) => string;
}

const writers: Record<Format, (item: z.ZodObject) => Writer> = {
  ndjson: () => ({
    head: '',
    line: (items) => `${items.join('\n')}\n`,
    end: (trailer) => `${JSON.stringify({ trailer })}\n`,
  }),
  json: () => ({
    head: '{"items":[\n',
    line: (items, isFirst) => `${isFirst ? '' : ',\n'}${items.join(',\n')}`,
    end: (trailer) => `],"trailer":${JSON.stringify(trailer)}}\n`,
  }),
  csv: (item) => {
    const { header, rows } = createCsvWriter(item);
    return {
      head: header,
      line: rows,
      // One cell, so that a spreadsheet shows it in the first column.
      end: (trailer) => `"# trailer ${JSON.stringify(trailer).replaceAll('"', '""')}"\r\n`,
    };
  },
};
