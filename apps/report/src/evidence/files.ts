import { createHash } from 'node:crypto';
import type { z } from '@hono/zod-openapi';
import { ZipDeflate, Zip as ZipStream } from 'fflate';
import { createCsvWriter } from '../export/csv.ts';
import { cannotBeDone } from '../problem.ts';

/** What the format can say without an extension that few programs write in the same way. The number 65,535 marks that extension. */
export const mostFiles = 65_534;
const mostBytes = 2 ** 32 - 1;

/** Creates a zip archive for streaming: add texts, and take the finished bytes. Throws a Problem (422) if it becomes larger than the format allows. */
export function createZip(modifiedAt: Date) {
  let ready: Uint8Array[] = [];
  let [bytes, files] = [0, 0];
  const zip = new ZipStream((error, chunk) => {
    if (error !== null) throw error;
    bytes += chunk.length;
    if (bytes > mostBytes) throw cannotBeDone('An archive has at most 4 GB; ask for fewer days or projects.');
    ready.push(chunk);
  });
  return {
    /** Begins a file. End the previous file first. */
    add(name: string) {
      files += 1;
      if (files > mostFiles)
        throw cannotBeDone(`An archive has at most ${mostFiles} files; ask for fewer days or projects.`);
      // By default, a file of unknown length takes 2 MB of tables, and compresses no better.
      const file = new ZipDeflate(name, { mem: 4 });
      file.mtime = modifiedAt;
      zip.add(file);
      return {
        write: (text: string) => file.push(Buffer.from(text)),
        end: () => file.push(new Uint8Array(), true),
      };
    },
    end: () => zip.end(),
    /** Returns the bytes since the last call. */
    take(): Uint8Array {
      const taken = Buffer.concat(ready);
      ready = [];
      return taken;
    },
  };
}

export type Zip = ReturnType<typeof createZip>;

/** A file of an archive, as manifests list it. */
export interface Written {
  file: string;
  records: number;
  sha256: string;
}

/** The same rows as NDJSON and as CSV. */
export interface WrittenTable extends Written {
  csv: { file: string; sha256: string };
}

/** Adds a file of JSON lines and the same rows as CSV. */
export function writeTable(zip: Zip, name: string, schema: z.ZodObject) {
  const lines = writeLines(zip, `${name}.ndjson`);
  const csv = createCsvWriter(schema);
  const cells = writeHashed(zip, `${name}.csv`);
  cells.write(csv.header);
  return {
    write(items: string[]) {
      lines.write(items);
      if (items.length > 0) cells.write(csv.rows(items));
    },
    end: (): WrittenTable => ({ ...lines.end(), csv: { file: `${name}.csv`, sha256: cells.end() } }),
  };
}

/** Adds a file of JSON lines. */
export function writeLines(zip: Zip, name: string) {
  const file = writeHashed(zip, name);
  let records = 0;
  return {
    write(items: string[]) {
      if (items.length === 0) return;
      file.write(`${items.join('\n')}\n`);
      records += items.length;
    },
    end: (): Written => ({ file: name, records, sha256: file.end() }),
  };
}

/** Adds a file of one record. */
export function writeText(zip: Zip, name: string, text: string): Written {
  const file = writeHashed(zip, name);
  file.write(text);
  return { file: name, records: 1, sha256: file.end() };
}

/** Adds a file; `end` returns the hash of its bytes. */
function writeHashed(zip: Zip, name: string) {
  const file = zip.add(name);
  const hash = createHash('sha256');
  return {
    write(text: string) {
      hash.update(text);
      file.write(text);
    },
    end(): string {
      file.end();
      return hash.digest('hex');
    },
  };
}
