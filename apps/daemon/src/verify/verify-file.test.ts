import { expect, test } from 'vitest';
import { verifyFiles } from './verify-file.ts';

test('a file whose bytes cannot be read is refused by its name, as one that does not exist', async () => {
  const options = { keys: [], nowMs: Date.now() };
  // The system refuses to read it at its beginning, also for root.
  const unreadable = '/proc/self/mem';
  for (const [file, code] of [
    [unreadable, 'EIO'],
    ['/nonexistent', 'ENOENT'],
  ] as const)
    await expect(verifyFiles([file], options)).rejects.toMatchObject({
      name: 'UserError',
      exit: 2,
      message: `${file} cannot be read (${code}); name a receipt, an archive, or the folder of a copy of the ledger.`,
    });
});
