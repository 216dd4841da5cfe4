import { printable } from './printable.ts';

/** Exit codes of every command: done; failed; wrong usage or configuration; done, but something needs a person. */
export const exitCode = { done: 0, failed: 1, usage: 2, needsPerson: 3 } as const;

/**
 * What a UserError is about. clock: our clock and the control plane's differ. control_plane: it does not answer as it should. held: a pause or a
 * guard holds revocations. incomplete: part of a pass failed. listen: a service cannot start or listen. not_possible: what was asked does not
 * fit what is there. plan: a plan is not what it was. retention: operations may not be dropped. stopped: the process was told to stop. store: the
 * database cannot be used as it is. usage: a command, a setting or the configuration is wrong.
 */
export type UserErrorCode =
  | 'clock'
  | 'control_plane'
  | 'held'
  | 'incomplete'
  | 'listen'
  | 'not_possible'
  | 'plan'
  | 'retention'
  | 'stopped'
  | 'store'
  | 'usage';

/** A failure that a person can fix: one sentence that says how. It ends the process with `exit`, and prints no stack. */
export class UserError extends Error {
  readonly code: UserErrorCode;
  readonly exit: number;
  /** It may fix itself: a server that starts, a migration that runs elsewhere. */
  readonly canRetry: boolean;

  constructor(
    code: UserErrorCode,
    message: string,
    options: { exit?: number; canRetry?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'UserError';
    this.code = code;
    this.exit = options.exit ?? exitCode.failed;
    this.canRetry = options.canRetry ?? false;
  }
}

/** Wrong usage or configuration: exit code 2. */
export function usageError(message: string): UserError {
  return new UserError('usage', message, { exit: exitCode.usage });
}

/** The system's or Postgres's code of an error (ENOENT, 42P01), its own or its cause's; else its class. Never a message, which may hold data. */
export function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && at.code !== '') return at.code;
  }
  return error instanceof Error ? error.name : 'unknown';
}

/** What Deno did not allow, in one sentence that says which permission to give; null for any other error. */
export function deniedByDeno(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const [, what, of, flag] =
      /^Requires (\w+) access to (.*), run again with the (--allow-\w+) flag/.exec(at.message) ?? [];
    if (flag === undefined) continue;
    const to = of?.replaceAll('"', '') ?? '';
    return `Deno does not allow ${what} access to ${to}: start again with ${flag}=${to} (docs/OPERATIONS.md, "Under Deno").`;
  }
  return null;
}

/** Runs an entry point: a UserError is one line on standard error; anything else is a bug and shows its stack's own frames. */
export async function runMain(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    const denied = deniedByDeno(error);
    if (denied !== null) {
      console.error(printable(denied));
      process.exitCode = exitCode.usage;
    } else if (error instanceof UserError) {
      console.error(printable(error.message));
      process.exitCode = error.exit;
    } else {
      const frames =
        error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
      console.error(
        `Keywarden met an error that it does not know (${codeOf(error)}); please report it with these lines:`,
      );
      console.error(frames.slice(0, 8).join('\n'));
      process.exitCode = exitCode.failed;
    }
  }
}
