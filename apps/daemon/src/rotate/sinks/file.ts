import { constants, existsSync } from 'node:fs';
import { access, open, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '@keywarden/runtime';
import { emptyNote, type HeldKey, noteOf, readKeyFile, writeNote } from '@keywarden/runtime/config';
import type { Delivered, OpenSink } from './sink.ts';

/**
 * Returns a sink that is a file with nothing but the secret, readable only by its owner. A note beside it names the key and holds the
 * secret's hash, and the same for the previous key. The note is written first: after a kill in between, the file is known to hold the
 * previous secret. `heldKeyId` identifies the key in a file that has no note yet.
 */
export function fileSink(path: string, heldKeyId: string | null = null): OpenSink {
  return {
    file: path,
    isDelayed: false,

    async check() {
      try {
        await access(dirname(path), constants.W_OK | constants.X_OK);
        if (isOurOwn(path)) return `${path} has a name that Keywarden reserves for its own files; choose another`;
        const found = await stat(path).catch(() => undefined);
        if (found === undefined) return null;
        if (!found.isFile()) return `${path} is not a file`;
        return readHeld(await realpath(path), heldKeyId) === null
          ? `${path} exists, and Keywarden did not write its content; move it away, or choose another path`
          : null;
      } catch (error) {
        return `${dirname(path)} cannot be written (${codeOf(error)})`;
      }
    },

    async prepare() {
      try {
        const realPath = await realPathOf(path);
        // Another process may write the note meanwhile, and that one must stay.
        if (!existsSync(realPath) && !existsSync(noteOf(realPath))) await createFile(noteOf(realPath), emptyNote);
        // A secret that a full disk does not take would be lost, and its key minted in vain.
        const probe = partialOf(partialOf(realPath));
        try {
          await writePartial(partialOf(realPath), ' '.repeat(probeBytes));
        } finally {
          await rm(probe, { force: true });
        }
        return null;
      } catch (error) {
        return `${path} cannot be written (${codeOf(error)})`;
      }
    },

    async deliver(secret, keyId, { whyNotWrite }): Promise<Delivered> {
      try {
        const realPath = await realPathOf(path);
        const files = [noteOf(realPath), realPath];
        try {
          await writePartial(noteOf(realPath), writeNote({ keyId, secret }, readHeld(realPath, heldKeyId)));
          await writePartial(realPath, secret);
          // Checked last: a process that takes over later removes both partial files first, so that nothing is left to rename after a pause.
          const whyNot = await whyNotWrite();
          if (whyNot !== null) return { isDelivered: false, why: whyNot, mayHave: false };
          for (const file of files) await movePartial(file);
        } finally {
          for (const file of files) await rm(partialOf(file), { force: true });
        }
        if (readKeyFile(realPath).keyId === keyId) return { isDelivered: true };
        return { isDelivered: false, why: `${path} does not contain what was written`, mayHave: true };
      } catch (error) {
        return { isDelivered: false, why: `${path} cannot be written (${codeOf(error)})`, mayHave: true };
      }
    },

    async ask(keyId) {
      try {
        const realPath = await realPathOf(path);
        // An interrupted write leaves a secret that is never used.
        for (const file of [noteOf(realPath), realPath]) await rm(partialOf(file), { force: true });
        const { keyId: named } = readKeyFile(realPath);
        const found = named === undefined ? heldKeyId : named;
        if (found === keyId) return 'has';
        return found === null ? 'unknown' : 'lacks';
      } catch (error) {
        // Without the note that `prepare` writes, this is another folder than that of the delivery: that of another machine, or one that is not mounted.
        return codeOf(error) === 'ENOENT' && existsSync(noteOf(await realPathOf(path))) ? 'lacks' : 'unknown';
      }
    },
  };
}

/** Returns the path of a file that exists or may be written, without symbolic links. Also follows a link whose target does not exist yet. */
export async function realPathOf(path: string): Promise<string> {
  const inFolder = async () => join(await realpath(dirname(path)), basename(path));
  const behindLink = async () => await realPathOf(resolve(await realpath(dirname(path)), await readlink(path)));
  return await realpath(path)
    .catch(async (error: unknown) => await (codeOf(error) === 'ENOENT' ? behindLink() : inFolder()))
    .catch(inFolder)
    .catch(() => resolve(path));
}

/** Returns the key in the file, as identified by its note or else by `heldKeyId`. */
function readHeld(path: string, heldKeyId: string | null): HeldKey | null {
  try {
    const { secret, keyId } = readKeyFile(path);
    const known = keyId === undefined ? heldKeyId : keyId;
    return known === null ? null : { keyId: known, secret };
  } catch {
    return null; // the file does not exist
  }
}

/** More than a secret, its note and their blocks in the file system take. */
const probeBytes = 32_768;

/** Returns whether a path has the name of a note or of a partly written file. */
const isOurOwn = (path: string) => path.endsWith(noteOf('')) || path.endsWith(partialOf(''));

const partialOf = (path: string) => `${path}.keywarden-partial`;

/** Writes a file beside the one that it will replace. With `movePartial`, the whole file is replaced or nothing, even if the machine stops. */
async function writePartial(path: string, text: string): Promise<void> {
  await rm(partialOf(path), { force: true });
  await createFile(partialOf(path), text);
}

const createFile = async (path: string, text: string): Promise<void> =>
  await writeFile(path, text, { flag: 'wx', mode: 0o600, flush: true });

async function movePartial(path: string): Promise<void> {
  await rename(partialOf(path), path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
