import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Company } from '@keywarden/sandbox';
import { createControls } from '@keywarden/testkit/sandbox/controls';

interface Started {
  url: string;
  controlUrl: string;
  adminKey: string;
}

interface Used {
  cpuSeconds: number;
  residentMb: number;
}

/** Starts a sandbox in a separate process, with its state in a file or in memory, and generates a company in it. */
export async function startSandbox({ file = ':memory:', company }: { file?: string; company: Partial<Company> }) {
  const child = fork(new URL('sandbox-process.ts', import.meta.url), [file]);
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the sandbox's process ended with ${String(code)}`);
  });
  died.catch(() => undefined); // it always ends; only a pending wait needs the error
  // The two messages that sandbox-process.ts sends.
  const hear = async <T>() => (await Promise.race([once(child, 'message'), died]))[0] as T;
  const sandbox = await hear<Started>();
  const controls = createControls(sandbox.controlUrl);
  return {
    ...sandbox,
    controls,
    generate: async () => await controls.generate(company),
    /** Returns the resources that the process has used so far. */
    async used(): Promise<Used> {
      child.send('used');
      return await hear<Used>();
    },
    async stop(): Promise<void> {
      if (child.connected) child.disconnect();
      await died.catch(() => undefined);
    },
  };
}
