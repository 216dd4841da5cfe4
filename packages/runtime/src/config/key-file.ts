import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** Beside a file with a secret: which key it is of. */
export const noteOf = (path: string) => `${path}.keywarden.json`;

const entrySchema = z.object({ key_id: z.string().regex(/^\d{1,19}$/), sha256: z.string() });
const noteSchema = entrySchema.extend({ before: entrySchema.optional() });

/** A key and its secret. */
export interface HeldKey {
  keyId: string;
  secret: string;
}

/**
 * What stands beside a secret. The hash ties both together: they are two files, and a crash may come between. So the note names the secret that
 * stood there before, too, where that is known.
 */
export function writeNote(key: HeldKey, before: HeldKey | null): string {
  const toEntry = ({ keyId, secret }: HeldKey) => ({ key_id: keyId, sha256: hash(secret) });
  return `${JSON.stringify({ ...toEntry(key), ...(before === null ? {} : { before: toEntry(before) }) })}\n`;
}

/**
 * A secret from a file, and the id of its key by the note beside it: undefined without a note, null where that is of another secret. Throws what
 * the file system throws.
 */
export function readKeyFile(path: string): { secret: string; keyId: string | null | undefined } {
  const secret = readFileSync(path, 'utf8').trim();
  return { secret, keyId: readKeyId(path, secret) };
}

function readKeyId(path: string, secret: string): string | null | undefined {
  if (!existsSync(noteOf(path))) return undefined;
  try {
    const { before, ...entry } = noteSchema.parse(JSON.parse(readFileSync(noteOf(path), 'utf8')));
    return (
      [entry, ...(before === undefined ? [] : [before])].find(({ sha256 }) => sha256 === hash(secret))?.key_id ?? null
    );
  } catch {
    return null; // one that cannot be read names nobody
  }
}

const hash = (secret: string) => createHash('sha256').update(secret).digest('hex');
