import { existsSync, readFileSync } from 'node:fs';
import { sha256 } from '@keywarden/core/values';
import { z } from 'zod';

/** Returns the path of the note beside a secret's file, which names its key. */
export const noteOf = (path: string) => `${path}.keywarden.json`;

/** The note beside a file that has no secret yet. */
export const emptyNote = '{}\n';

const entrySchema = z.object({ key_id: z.string().regex(/^\d{1,19}$/), sha256: z.string() });
const noteSchema = entrySchema.extend({ before: entrySchema.optional() });

/** A key and its secret. */
export interface HeldKey {
  keyId: string;
  secret: string;
}

/**
 * Returns the note to write beside a secret. The hash ties both files together, because a crash may happen between the two writes. For the same
 * reason the note also names the previous secret, if that is known.
 */
export function writeNote(key: HeldKey, before: HeldKey | null): string {
  const toEntry = ({ keyId, secret }: HeldKey) => ({ key_id: keyId, sha256: sha256(secret) });
  return `${JSON.stringify({ ...toEntry(key), ...(before === null ? {} : { before: toEntry(before) }) })}\n`;
}

/**
 * Returns a secret from a file and its key's id from the note beside it. The id is undefined without a note, and null if the note is about another
 * secret. Throws errors of the file system.
 */
export function readKeyFile(path: string): { secret: string; keyId: string | null | undefined } {
  const secret = readFileSync(path, 'utf8').trim();
  return { secret, keyId: readKeyId(path, secret) };
}

function readKeyId(path: string, secret: string): string | null | undefined {
  if (!existsSync(noteOf(path))) return undefined;
  try {
    const text = readFileSync(noteOf(path), 'utf8');
    if (text === emptyNote) return undefined;
    const { before, ...entry } = noteSchema.parse(JSON.parse(text));
    return (
      [entry, ...(before === undefined ? [] : [before])].find((each) => each.sha256 === sha256(secret))?.key_id ?? null
    );
  } catch {
    return null; // an unreadable note names no key
  }
}
