import { printError } from './printable.ts';

/** Exit codes of every command: done; failed; wrong usage or configuration; done but a person must act. */
export const exitCode = { done: 0, failed: 1, usage: 2, needsPerson: 3 } as const;

/** The subject of a UserError. */
export type UserErrorCode =
  | 'clock' // our clock and the control plane's differ
  | 'control_plane' // it does not answer as it should
  | 'held' // a pause or a guard holds revocations
  | 'incomplete' // part of a pass failed
  | 'listen' // a service cannot start or listen
  | 'not_possible' // the request does not fit the existing data
  | 'plan' // a plan has changed
  | 'retention' // operations may not be dropped
  | 'stopped' // the process received a stop signal
  | 'store' // the database cannot be used as it is
  | 'usage'; // a command, a setting or the configuration is wrong

/** A failure that a person can fix, with one sentence that explains how. It ends the process with exit code `exit` and prints no stack. */
export class UserError extends Error {
  readonly code: UserErrorCode;
  readonly exit: number;
  /** True if it may resolve without a person: a server that starts, a migration that runs elsewhere. */
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

/** Returns a UserError for wrong usage or configuration: exit code 2. */
export function usageError(message: string): UserError {
  return new UserError('usage', message, { exit: exitCode.usage });
}

/** Returns a UserError for a database that a person must set up in another way: exit code 2. */
export function storeError(message: string, options: { canRetry?: boolean; cause?: unknown } = {}): UserError {
  return new UserError('store', message, { ...options, exit: exitCode.usage });
}

/** Returns the code of an error or of its cause (ENOENT, 42P01), else its class. Never a message, which may contain data. */
export function codeOf(error: unknown): string {
  // Some libraries pass on a copy of an error, without its class.
  for (let at = error; typeof at === 'object' && at !== null; at = 'cause' in at ? at.cause : null)
    if ('code' in at && typeof at.code === 'string' && at.code !== '') return at.code;
  return error instanceof Error ? error.name : 'unknown';
}

/**
 * Returns whether the database, or a node of its cluster, cannot be reached or takes no connection, so that a retry may help. Source: Postgres's classes 08
 * (connections), 28 (the login, such as a password that was changed) and 57P (operators' interventions), 3D000 (no such database, as during a restore), 53300
 * (too many connections), 25006 (read-only, as after a failover), and the codes of the driver and of the network.
 */
export const isStoreUnavailable = (error: unknown): boolean =>
  /^(ECONN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOTFOUND|EAI_|CONNECT|57P|08|28|3D000|53300|25006)/.test(codeOf(error));

const notTrusted =
  'has a certificate that this machine does not trust; set NODE_EXTRA_CA_CERTS to the file of its authority';
const certificateFaults: Record<string, string> = {
  SELF_SIGNED_CERT_IN_CHAIN: notTrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: notTrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: notTrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: notTrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate of another host; use an address that is in its certificate',
  CERT_HAS_EXPIRED: 'has a certificate that has expired; renew it',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet; correct the clock of this machine, or renew it',
  // Deno gives no code. See packages/core/src/client/network.ts.
  ERR_TLS_CERT: 'has a certificate that Deno does not accept; set DENO_CERT to the file of its authority',
};

/** Returns what is wrong with a server's certificate, and what to change, by the code of the error; undefined for any other code. */
export const certificateFault = (code: string): string | undefined => certificateFaults[code];

/**
 * Why the database cannot carry out a statement until a person frees or raises something, by the code of the error. Source: Postgres's classes 53
 * (resources), 57 and 58 (interventions, the system), and 55P03.
 */
const exhausted: Record<string, string> = {
  '53100': 'its disk is full',
  '53200': 'it has no memory left, or no locks; the latter depend on max_locks_per_transaction',
  '53400': 'a limit such as temp_file_limit is too low',
  '55P03': 'a lock was not free within lock_timeout',
  '57014': 'the statement was canceled, by statement_timeout or by an administrator',
  '58030': 'its disk has an error',
};

/** Returns why the database lacks space, memory or time for a statement, or null for any other error. */
export const whyExhausted = (error: unknown): string | null => exhausted[codeOf(error)] ?? null;

/** Returns whether the database failed inside (XX000): of Citus also a lost node, of Postgres damage or a defect of its own. */
export const isStoreFailure = (error: unknown): boolean => codeOf(error) === 'XX000';

/** Returns one sentence that names the Deno permission to grant, or null for any other error. */
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

/** Runs an entry point. Prints why it failed on standard error: for a UserError one line, for any other error, which is a bug, its stack's own frames. */
export async function runMain(main: () => Promise<number>): Promise<void> {
  if (!process.stdout.listeners('error').includes(loseOutput)) {
    process.stdout.on('error', loseOutput);
    process.stderr.on('error', allowClosed);
    // The error of a last write comes after the end of `main`.
    process.once('exit', () => {
      if (isOutputLost) process.exitCode ||= exitCode.failed;
    });
  }
  try {
    process.exitCode = await main();
  } catch (error) {
    const [message, exit] = explain(error);
    printError(message);
    process.exitCode = exit;
  }
}

/** The codes of a disk that is full or damaged. */
export const codesOfFullDisks: readonly string[] = ['ENOSPC', 'EDQUOT', 'EIO'];

/**
 * Ignores an error of an output whose reader, such as `head`, has stopped reading, or whose disk is full. Throws any other error. What was begun, such as a
 * revocation, is done to its end all the same.
 */
export function allowClosed(error: Error): void {
  if (!['EPIPE', ...codesOfFullDisks].includes(codeOf(error))) throw error;
}

let isOutputLost = false;

/** Does the same for a command's output. A command whose output is lost has failed. */
function loseOutput(error: Error): void {
  allowClosed(error);
  isOutputLost ||= codeOf(error) !== 'EPIPE';
}

/** Returns a sentence for people, and the exit code. */
export function explain(error: unknown): [message: string, exit: number] {
  const denied = deniedByDeno(error);
  if (denied !== null) return [denied, exitCode.usage];
  if (error instanceof UserError) return [error.message, error.exit];
  return [whyFailed(error), exitCode.failed];
}

/** Returns what to do about an error of the database or of a disk. Any other error is a bug. */
function whyFailed(error: unknown): string {
  const code = codeOf(error);
  if (code === '25006')
    return 'The database is read-only, as a standby is; set DATABASE_URL to the primary, or end default_transaction_read_only.';
  const why = whyExhausted(error);
  if (why !== null) return `The database cannot do this (${code}): ${why}. Correct that, then try again.`;
  if (codesOfFullDisks.includes(code))
    return `A file cannot be written (${code}), because the disk of KEYWARDEN_DATA or of another folder is full or damaged; free space, then try again.`;
  if (isStoreUnavailable(error))
    return `The database does not answer (${code}); check that it runs and takes the user of DATABASE_URL, and on a cluster each of its nodes, then try again.`;
  if (isStoreFailure(error))
    return 'The database has an internal error (XX000). On a cluster, keywarden check names a node that does not answer; otherwise see the log of the database.';
  const heading = `Unexpected error (${code}); please report it with these lines:`;
  // A line of the message can look like a frame.
  const stack = error instanceof Error ? (error.stack ?? '').replace(error.message, () => '').split('\n') : [];
  const frames = stack.filter((line) => /^\s+at /.test(line)).slice(0, 8);
  return [heading, ...frames].join('\n');
}
