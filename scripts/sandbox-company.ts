import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UserError } from '@keywarden/runtime';
import { createControls } from '@keywarden/testkit/sandbox/controls';

const dayMs = 86_400_000;
/** How far the clock of a new sandbox is set back while the archive is first filled. */
const lookBackDays = 92;

/**
 * Starts the sandbox without limits, because no other client here needs a share of them. An empty one gets a company with this many operations, three
 * months ago.
 */
export async function prepareSandbox(
  { controlUrl, isEmpty }: { controlUrl: string; isEmpty: boolean },
  { operations }: { operations: number },
): Promise<void> {
  const limits = { per_minute: null, per_second_per_route: null, org_key_creation_per_second: null };
  const controls = createControls(controlUrl);
  await controls.setLimits(limits);
  if (!isEmpty) return;
  console.error('Generating a company with nine months of history in the sandbox, as it was three months ago ...');
  // An interrupted start may have already set it back.
  const now = await controls.now();
  const behindMs = Date.now() - Date.parse(now);
  await controls.advance((behindMs - lookBackDays * dayMs) / 1000);
  await controls.generate({ months: 6, operations });
}

/**
 * Syncs everything while the sandbox's clock is set back, then moves the clock to the current time while the company continues. So the archive holds
 * months that the sandbox no longer serves. An interrupted run is repeated.
 */
export async function bringToPresent({ controlUrl }: { controlUrl: string }, sync: () => Promise<void>): Promise<void> {
  const controls = createControls(controlUrl);
  if (Date.now() - Date.parse(await controls.now()) < dayMs) return;
  await sync();
  // Read again: the sandbox's clock runs during the sync too.
  const now = await controls.now();
  console.error(`Moving the sandbox's clock from ${now.slice(0, 10)} to the current time ...`);
  // Busier than by default, so that the months in between look like those before.
  await controls.setWork({ operations_per_day: 6 });
  await controls.advance((Date.now() - Date.parse(now)) / 1000);
  await controls.setWork({});
}

/** Runs a command of ours to its end; it ends with this process. Throws a UserError if it fails. */
export async function runToEnd(
  command: string[],
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<void> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const stop = () => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const [code] = await once(child, 'exit');
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (code !== 0)
    throw new UserError(
      'control_plane',
      'The first sync failed; the lines above show the reason. Run npm start again.',
    );
}
