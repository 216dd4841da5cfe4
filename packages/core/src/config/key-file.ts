import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** Beside a file with a secret: which key it is of. */
export const noteOf = (path: string) => `${path}.keywarden.json`;

const noteSchema = z.object({ key_id: z.string().regex(/^\d{1,19}$/), sha256: z.string() });

/** What stands beside a secret. The hash ties both together: they are two files, and a crash may come between. */
export function writeNote(keyId: string, secret: string): string {
  return `${JSON.stringify({ key_id: keyId, sha256: hash(secret) })}\n`;
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
    const note = noteSchema.safeParse(JSON.parse(readFileSync(noteOf(path), 'utf8')));
    return note.success && note.data.sha256 === hash(secret) ? note.data.key_id : null;
  } catch {
    return null; // one that cannot be read names nobody
  }
}

const hash = (secret: string) => createHash('sha256').update(secret).digest('hex');
