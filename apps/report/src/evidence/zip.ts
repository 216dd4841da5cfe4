import { Zip, ZipDeflate } from 'fflate';

/** Creates a zip archive for streaming: add texts, and take the finished bytes. */
export function createZip(modifiedAt: Date) {
  let ready: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error;
    ready.push(chunk);
  });
  return {
    /** Begins a file. End the previous file first. */
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
    /** Returns the bytes since the last call. */
    take(): Uint8Array {
      const taken = Buffer.concat(ready);
      ready = [];
      return taken;
    },
  };
}
