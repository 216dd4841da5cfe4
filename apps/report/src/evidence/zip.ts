import { Zip, ZipDeflate } from 'fflate';
import { cannotBeDone } from '../problem.ts';

/** What the format can say without an extension that few programs write in the same way. The number 65,535 marks that extension. */
export const mostFiles = 65_534;
const mostBytes = 2 ** 32 - 1;

/** Creates a zip archive for streaming: add texts, and take the finished bytes. Throws a Problem (422) if it becomes larger than the format allows. */
export function createZip(modifiedAt: Date) {
  let ready: Uint8Array[] = [];
  let [bytes, files] = [0, 0];
  const zip = new Zip((error, chunk) => {
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
      const file = new ZipDeflate(name);
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
