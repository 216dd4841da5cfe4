import { Zip, ZipDeflate } from 'fflate';

/** A zip archive that is written as it is read: texts go in, bytes come out. */
export function createZip(modifiedAt: Date) {
  let ready: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error;
    ready.push(chunk);
  });
  return {
    /** Begins a file; the one before must have ended. */
    add(name: string) {
      const file = new ZipDeflate(name);
      file.mtime = modifiedAt;
      zip.add(file);
      return {
        write: (text: string) => file.push(Buffer.from(text)),
        end: () => file.push(new Uint8Array(), true),
      };
    },
    end: () => zip.end(),
    /** What has come out since it was last asked. */
    take(): Uint8Array {
      const taken = Buffer.concat(ready);
      ready = [];
      return taken;
    },
  };
}
