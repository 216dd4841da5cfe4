import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isNetwork, secretForm } from '@keywarden/core/values';
import { z } from 'zod';
import { whyNotDatabaseUrl } from './database-url.ts';
import { codeOf, UserError, usageError } from './errors.ts';

const text = z
  .string()
  .optional()
  .transform((value) => (value === '' ? undefined : value));
/** A setting that is unset or passes a test. Not for secrets: the error has the value. */
const checked = (isValid: (value: string) => boolean, mustBe: string) =>
  text.refine((value) => value === undefined || isValid(value), {
    error: ({ input }) => `must be ${mustBe}, and "${String(input)}" is not`,
  });
const port = <T extends number | undefined>(fallback: T) =>
  checked((value) => /^\d+$/.test(value) && Number(value) <= 65_535, 'a port from 0 to 65535').transform(
    (value): number | T => (value === undefined ? fallback : Number(value)),
  );
const count = (fallback: number) =>
  checked((value) => /^[1-9]\d{0,6}$/.test(value), 'a number from 1 to 9999999').transform((value) =>
    value === undefined ? fallback : Number(value),
  );
const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  text.pipe(z.enum(values, { error: () => `must be one of ${values.join(', ')}` }).optional());
const url = (...protocols: string[]) =>
  text.refine((value) => value === undefined || (URL.canParse(value) && protocols.includes(new URL(value).protocol)), {
    error: () => `must be an address that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

/** A name or address to listen on; an IPv6 address may have the brackets that it has in URLs. */
const host = text.transform((value) => value?.replace(/^\[(.+)\]$/, '$1') ?? '127.0.0.1');

const network = z.string().refine(isNetwork, {
  error: ({ input }) => `must be addresses or ranges separated by commas, and "${String(input)}" is neither`,
});

/** A setting that weakens a protection; only 1 turns it on. */
const allowance = checked((value) => value === '1', '1 or unset').transform((value) => value === '1');

const schema = z.object({
  DATABASE_URL: text.superRefine((value, context) => {
    const message = value === undefined ? null : whyNotDatabaseUrl(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  }),
  ALLOW_OWNER_LOGIN: allowance,
  ALLOW_HTTP: allowance,
  KEYWARDEN_CONFIG: text,
  KEYWARDEN_DATA: text.transform((value) => resolve(value ?? '.keywarden')),
  CONTROL_PLANE_URL: url('https:', 'http:'),
  CONTROL_PLANE_API_KEY: text,
  CONTROL_PLANE_KEY_ID: text.refine((value) => value === undefined || /^\d{1,19}$/.test(value), {
    error: () => 'must be the number of a key',
  }),
  REPORT_HOST: host,
  REPORT_PORT: port(8820),
  REPORT_TOKEN: text.refine((value) => value === undefined || (value.length >= 20 && secretForm.test(value)), {
    error: () => 'must have 20 characters or more, all of them ASCII and none of them a space',
  }),
  AUDITOR_TOKEN: text,
  REPORT_TLS_CERT: text,
  REPORT_TLS_KEY: text,
  REPORT_PROXY: text.transform((value) => value?.split(',').map((each) => each.trim()) ?? []).pipe(z.array(network)),
  REPORT_REQUESTS_PER_MINUTE: count(600),
  REPORT_OPEN_CHECKPOINT: allowance,
  DAEMON_HOST: host,
  DAEMON_PORT: port(undefined),
  LEDGER_KEY: text,
  LEDGER_PUBLIC_KEY: text,
  LEDGER_WITNESSES: text,
  OTEL_EXPORTER_OTLP_ENDPOINT: url('https:', 'http:'),
  SANDBOX_PORT: port(8810),
  SANDBOX_ADMIN_KEY: text,
  SANDBOX_OPERATIONS: count(140_000),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).transform(
    (value) => value ?? 'info',
  ),
  LOG_FORMAT: oneOf(['pretty', 'json']),
});

/** The settings of one process, parsed once in its entry point. */
export type Environment = z.infer<typeof schema>;

/** Parses the environment. Throws a UserError (exit 2) that names the variable and its valid values, and never contains a secret's value. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw usageError(`${String(issue?.path[0])} ${issue?.message}.`);
}

/** Returns whether a URL's host name is this machine's own. */
export function isLoopback(hostname: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

/** Returns whether a URL has a user or a password. `fetch` refuses such a URL. */
export function hasUser(url: string): boolean {
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}

/** Returns whether a text is a URL that paths can follow: without a user, and without a query or a fragment, be they empty. */
export const isBareUrl = (text: string): boolean => URL.canParse(text) && !hasUser(text) && !/[?#]/.test(text);

/** Creates the data folder if needed. Throws one sentence that explains why it cannot be used. */
export function ensureDataFolder(folder: string): void {
  try {
    makeFolder(folder);
    // With the slash, a file is refused, too.
    accessSync(`${folder}/`, constants.W_OK | constants.X_OK);
  } catch (error) {
    const message = `The data folder ${folder} cannot be written (${codeOf(error)}); set KEYWARDEN_DATA to a writable folder.`;
    throw new UserError('usage', message, { cause: error });
  }
}

/** Creates a folder, parents first, one by one: below /proc, Node's recursive mkdir does not end. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error; // another process created it first
  }
}

/** Throws a UserError if the data folder does not exist: a forgotten KEYWARDEN_DATA must not begin another store. */
export function requireDataFolder(folder: string): void {
  if (existsSync(folder)) return;
  throw usageError(
    `There is no data folder ${folder}. Set KEYWARDEN_DATA to the folder of the daemon, or run keywarden sync to begin a store there.`,
  );
}

/**
 * Writes a small file of the data folder atomically: a reader finds the old text or the new one, also after the machine has lost its power. Creates the
 * folder if needed.
 */
export function writeDataFile(folder: string, name: string, text: string): void {
  const partial = writePartial(folder, name, text);
  try {
    renameSync(partial, join(folder, name));
  } catch (error) {
    unlinkSync(partial);
    throw error;
  }
  syncPath(folder);
}

/**
 * Writes a small file of the data folder as `writeDataFile`, if `isWanted` says so on what the file has then. A process that is paused after it was asked writes
 * nothing over what another one writes meanwhile: each one removes the unfinished files of the others before it asks.
 */
export function writeDataFileIf(folder: string, name: string, text: string, isWanted: () => boolean): void {
  for (;;) {
    const partial = writePartial(folder, name, text);
    try {
      for (const other of readdirSync(folder).filter((each) => isPartialOf(each, name)))
        if (join(folder, other) !== partial) rmSync(join(folder, other), { force: true });
      if (!isWanted()) return;
      renameSync(partial, join(folder, name));
      syncPath(folder);
      return;
    } catch (error) {
      // Another process has removed the unfinished file, and may have written a later text.
      if (codeOf(error) !== 'ENOENT') throw error;
    } finally {
      rmSync(partial, { force: true });
    }
  }
}

/** Returns whether a file is an unfinished one of this name, and of no longer name that begins with it. */
const isPartialOf = (file: string, name: string) =>
  file.startsWith(`${name}.`) && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(file.slice(name.length + 1));

/** Writes a small file of the data folder as `writeDataFile`, unless it exists. Returns whether it did. */
export function createDataFile(folder: string, name: string, text: string): boolean {
  const partial = writePartial(folder, name, text);
  try {
    linkSync(partial, join(folder, name));
    syncPath(folder);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(partial);
  }
}

/** Creates an empty file of the data folder, unless it exists. It needs no space on a full disk. */
export function createEmptyDataFile(folder: string, name: string): void {
  closeSync(openSync(join(folder, name), 'a', 0o600));
  syncPath(folder);
}

/**
 * Moves a small file of the data folder to NAME.SUFFIX, or to NAME.SUFFIX.2 and so on where that has another text: nothing that was put aside is lost.
 * Does nothing if the file does not exist.
 */
export function putDataFileAside(folder: string, name: string, suffix: string): void {
  if (copyDataFileAside(folder, name, suffix)) rmSync(join(folder, name));
}

/** Copies a small file as `putDataFileAside` moves it. Returns whether it exists. */
export function copyDataFileAside(folder: string, name: string, suffix: string): boolean {
  const text = readDataFile(folder, name);
  if (text === undefined) return false;
  let [aside, count] = [`${name}.${suffix}`, 1];
  while (!createDataFile(folder, aside, text) && readDataFile(folder, aside) !== text) {
    count += 1;
    aside = `${name}.${suffix}.${count}`;
  }
  return true;
}

function writePartial(folder: string, name: string, text: string): string {
  ensureDataFolder(folder);
  const partial = join(folder, `${name}.${randomUUID()}`);
  try {
    writeFileSync(partial, `${text}\n`, { mode: 0o600, flush: true });
  } catch (error) {
    // A full disk: nothing of a secret stays in a file that nobody reads.
    rmSync(partial, { force: true });
    throw error;
  }
  return partial;
}

/** Waits until the disk has a folder's entries. */
function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns the trimmed text of a small file of the data folder, or undefined if it does not exist. Throws a UserError for an empty file. */
export function readDataFile(folder: string, name: string): string | undefined {
  try {
    const text = readFileSync(join(folder, name), 'utf8').trim();
    if (text === '')
      throw usageError(`${join(folder, name)} is empty; restore it from a backup, or remove it if it is not needed.`);
    return text;
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new UserError('usage', `${join(folder, name)} cannot be read (${codeOf(error)}); fix its permissions.`, {
      cause: error,
    });
  }
}
