import { resolve } from 'node:path';
import { isNetwork, secretForm } from '@keywarden/core/values';
import { z } from 'zod';
import { whyNotDatabaseUrl } from './database-url.ts';
import { usageError } from './errors.ts';

const text = z
  .string()
  .optional()
  .transform((value) => (value === '' ? undefined : value));
/** A setting that is unset or passes a test. */
const tested = (isValid: (value: string) => boolean, error: string | ((issue: { input?: unknown }) => string)) =>
  text.refine((value) => value === undefined || isValid(value), { error });
/** The same for a setting that is no secret: the error has its value. */
const checked = (isValid: (value: string) => boolean, mustBe: string) =>
  tested(isValid, ({ input }) => `must be ${mustBe}, and "${String(input)}" is not`);
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
const webAddress = tested(
  (value) => URL.canParse(value) && ['https:', 'http:'].includes(new URL(value).protocol),
  'must be an address that begins with https:// or http://',
);

/** A name or address to listen on; an IPv6 address may have the brackets that it has in URLs. */
const host = text.transform((value) => value?.replace(/^\[(.+)\]$/, '$1') ?? '127.0.0.1');

const network = z.string().refine(isNetwork, {
  error: ({ input }) => `must be addresses or ranges separated by commas, and "${String(input)}" is neither`,
});

/** A token that a request presents. What surrounds it does not count. */
const token = text
  .transform((value) => value?.trim())
  .refine((value) => value === undefined || secretForm.test(value), {
    error: () => 'must be one word of ASCII characters',
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
  CONTROL_PLANE_URL: webAddress,
  CONTROL_PLANE_API_KEY: text,
  CONTROL_PLANE_KEY_ID: tested((value) => /^\d{1,19}$/.test(value), 'must be the number of a key'),
  REPORT_HOST: host,
  REPORT_PORT: port(8820),
  REPORT_TOKEN: token.refine((value) => value === undefined || value.length >= 20, {
    error: () => 'must have 20 characters or more',
  }),
  AUDITOR_TOKEN: token,
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
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress,
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
