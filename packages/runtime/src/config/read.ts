import { existsSync, readFileSync } from 'node:fs';
import { secretForm } from '@keywarden/core/values';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { readDataFile } from '../data-folder.ts';
import { type Environment, hasUser, isBareUrl, isLoopback } from '../environment.ts';
import { codeOf, usageError } from '../errors.ts';
import { readKeyFile } from './key-file.ts';
import { type ConfigFile, configSchema } from './schema.ts';

/** A configured connection. The secret is in `apiKey`, which is never printed. */
export interface ConnectionConfig {
  name: string;
  url: string;
  /** The control plane's identity in the store: its address, except for the sandbox, whose port may change. */
  identity: string;
  apiKey: string;
  keyId: string | null;
  /** The file of the key, if it is in one. The key may change from one pass to the next. */
  keyFile: string | null;
  share: number;
}

/** A notification channel. Address and secret are never printed: the address of a chat webhook is a secret too. */
export interface ChannelConfig extends Pick<ConfigFile['channels'][number], 'name' | 'format' | 'checkpoints'> {
  url: string;
  /** Null for a format that does not sign. */
  secret: string | null;
}

export interface Config extends Omit<ConfigFile, 'connections' | 'channels'> {
  connections: ConnectionConfig[];
  channels: ChannelConfig[];
  /** True if nothing else is configured, so that the local sandbox is the control plane. */
  usesSandbox: boolean;
}

const defaultFile = 'keywarden.yaml';

/**
 * Returns the configuration: from the file, else a single connection from the environment, else the sandbox. Throws a UserError (exit 2) with the
 * file, line and column of a mistake. With `secrets` false the credentials are not read.
 */
export function readConfig(environment: Environment, variables: NodeJS.ProcessEnv, { secrets = true } = {}): Config {
  const file = readConfigFile(environment.KEYWARDEN_CONFIG);
  const single = singleConnection(environment);
  if (file.connections.length > 0 && single)
    throw usageError('Both keywarden.yaml and CONTROL_PLANE_URL name a control plane; unset one of them.');
  const usesSandbox = file.connections.length === 0 && single === undefined;
  const configured = file.connections.map((each) => {
    const [what, variable] = [`Connection ${each.name} takes its key`, each.api_key_env];
    return {
      name: each.name,
      url: normalize(each.url),
      identity: normalize(each.url),
      apiKey: secrets && variable !== undefined ? readVariable(what, variable, variables) : '',
      keyId: each.key_id ?? null,
      keyFile: each.api_key_file ?? null,
      share: each.share,
    };
  });
  const standIn = usesSandbox ? [sandboxConnection(environment, { secrets })] : [];
  const connections = [...configured, ...(single ? [single] : []), ...standIn].map((each) =>
    secrets ? readCredential(each) : each,
  );
  // Messages and the store name it, so it must have no password.
  const odd = connections.find(({ url }) => !isBareUrl(url));
  if (odd !== undefined)
    throw usageError(
      `The address of connection ${odd.name} has a user, a query or a fragment; write it as https://host/api/v2, and its key apart.`,
    );
  const open = connections.find(({ url }) => !isSafeAddress(url));
  if (open !== undefined && !environment.ALLOW_HTTP)
    throw usageError(
      `The address of connection ${open.name} begins with http:// and is not on this machine, so its key would cross the network in clear text: use https://, or set ALLOW_HTTP=1.`,
    );
  const channels = secrets ? file.channels.map((each) => readChannel(each, variables)) : [];
  return { ...file, connections, channels, usesSandbox };
}

/** Returns whether there is a configuration file. Another check refuses a named file that does not exist. */
export function hasConfigFile({ KEYWARDEN_CONFIG: path }: Environment): boolean {
  return existsSync(path ?? defaultFile);
}

function singleConnection(environment: Environment): ConnectionConfig | undefined {
  const { CONTROL_PLANE_URL: url, CONTROL_PLANE_API_KEY: apiKey, CONTROL_PLANE_KEY_ID: keyId } = environment;
  if (url === undefined && apiKey === undefined) return undefined;
  if (url === undefined) throw usageError('CONTROL_PLANE_API_KEY is set and CONTROL_PLANE_URL is not; set both.');
  if (apiKey === undefined) throw usageError('CONTROL_PLANE_URL is set and CONTROL_PLANE_API_KEY is not; set both.');
  const address = normalize(url);
  return { name: 'default', url: address, identity: address, apiKey, keyId: keyId ?? null, keyFile: null, share: 0.5 };
}

/** Returns the connection of the sandbox. The sandbox writes its address, its id and its administrator's key to the data folder; that key's id is 1. */
function sandboxConnection(environment: Environment, { secrets }: { secrets: boolean }): ConnectionConfig {
  const { KEYWARDEN_DATA: folder, SANDBOX_PORT: port } = environment;
  const url = readDataFile(folder, 'sandbox-url') ?? `http://127.0.0.1:${port}/api/v2`;
  const apiKey = environment.SANDBOX_ADMIN_KEY ?? readDataFile(folder, 'sandbox-admin-key');
  if (secrets && apiKey === undefined)
    throw usageError(
      'No control plane is configured and the sandbox was never started; run npm start, or set CONTROL_PLANE_URL and CONTROL_PLANE_API_KEY.',
    );
  const id = readDataFile(folder, 'sandbox-id');
  const identity = id === undefined ? 'sandbox' : `sandbox ${id}`;
  return { name: 'sandbox', url, identity, apiKey: apiKey ?? '', keyId: '1', keyFile: null, share: 0.5 };
}

/**
 * Returns a connection with its key, and with its file's current key and id, which a rotation may have replaced. Throws a UserError with the fix, also for a key
 * that no request can carry.
 */
export function readCredential(connection: ConnectionConfig): ConnectionConfig {
  const { name, keyFile } = connection;
  const held = keyFile === null ? connection : { ...connection, ...readHeldKey(connection, keyFile) };
  const apiKey = held.apiKey.trim();
  if (!secretForm.test(apiKey))
    throw usageError(`The key of connection ${name} is not one word of ASCII characters; give the key alone.`);
  return { ...held, apiKey };
}

function readHeldKey({ name, keyId }: ConnectionConfig, keyFile: string): Pick<ConnectionConfig, 'apiKey' | 'keyId'> {
  try {
    const key = readKeyFile(keyFile);
    return { apiKey: key.secret, keyId: key.keyId === undefined ? keyId : key.keyId };
  } catch (error) {
    throw usageError(
      `Connection ${name} takes its key from ${keyFile}, which cannot be read (${codeOf(error)}); fix api_key_file.`,
    );
  }
}

function readChannel(channel: ConfigFile['channels'][number], variables: NodeJS.ProcessEnv): ChannelConfig {
  const { name, format, checkpoints } = channel;
  const readUrl = () => {
    const place = { variable: channel.url_env, file: channel.url_file };
    return readOutside({ what: `Channel ${name} takes its address`, setting: 'url_file' }, place, variables);
  };
  const url = channel.url ?? readUrl();
  if (!isSafeAddress(url)) throw usageError(`The address of channel ${name} does not begin with https://; fix it.`);
  if (hasUser(url))
    throw usageError(`The address of channel ${name} has a user, and no request can be sent to it; remove the user.`);
  const place = { variable: channel.secret_env, file: channel.secret_file };
  const secret =
    place.variable === undefined && place.file === undefined
      ? null
      : readOutside({ what: `Channel ${name} takes its secret`, setting: 'secret_file' }, place, variables);
  if (secret !== null && !/^(whsec_)?[A-Za-z0-9+/]{24,}={0,2}$/.test(secret))
    throw usageError(`The secret of channel ${name} is not base64 of at least 18 bytes, as whsec_...; fix it.`);
  return { name, format, url, secret, checkpoints };
}

/** Returns whether what is sent to an address is encrypted when it leaves this machine: keys, and notifications about keys and people. */
function isSafeAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Reads a value that must not be in the configuration file itself, from a variable or from another file. */
function readOutside(
  { what, setting }: { what: string; setting: string },
  { variable, file = '' }: { variable: string | undefined; file: string | undefined },
  variables: NodeJS.ProcessEnv,
): string {
  if (variable !== undefined) return readVariable(what, variable, variables);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw usageError(`${what} from ${file}, which cannot be read (${codeOf(error)}); fix ${setting}.`);
  }
}

function readVariable(what: string, name: string, variables: NodeJS.ProcessEnv): string {
  const value = variables[name];
  if (!value) throw usageError(`${what} from ${name}, which is not set; set it.`);
  return value;
}

function readConfigFile(path: string | undefined): ConfigFile {
  let text: string;
  const file = path ?? defaultFile;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (path === undefined && codeOf(error) === 'ENOENT') return configSchema.parse({});
    throw usageError(
      `The configuration ${file} cannot be read (${codeOf(error)}); fix KEYWARDEN_CONFIG or the file's permissions.`,
    );
  }
  return parseConfig(text, file);
}

/** Parses a configuration's text. `file` is only its name in messages. */
export function parseConfig(text: string, file: string): ConfigFile {
  const lines = new LineCounter();
  // The parser only warns of a tag that it does not know, and makes a Map of an ordered map: settings would be ignored without a word.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, resolveKnownTags: false });
  const broken = document.errors[0] ?? document.warnings[0];
  if (broken) {
    // The parser's own message is for programmers.
    const why = broken.code === 'MULTIPLE_DOCS' ? 'the file has a second document (---); keep one' : broken.message;
    throw usageError(`${place(file, lines, broken.pos[0])}: ${why}.`);
  }
  const parsed = configSchema.safeParse(valueOf(document, file) ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path.map(String) ?? [];
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const node = keyAt(document, path, unknown[0]) ?? nodeAt(document, path);
  const where = [...path, ...unknown].join('.') || 'the file';
  throw usageError(`${place(file, lines, node ?? 0)}: ${where}: ${issue?.message}.`);
}

/** Returns a document's value. Throws a UserError for aliases without an anchor, within their own anchor, or too many. */
function valueOf(document: ReturnType<typeof parseDocument>, file: string): unknown {
  try {
    const value: unknown = document.toJS();
    JSON.stringify(value);
    return value;
  } catch (error) {
    const [reason] = error instanceof Error ? error.message.split('\n') : [];
    throw usageError(`${file}: an alias (*name) cannot be resolved: ${reason}.`);
  }
}

function place(file: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${file}, line ${line}, column ${col}`;
}

/** Returns the offset of a key of the map at a path. */
function keyAt(document: ReturnType<typeof parseDocument>, path: string[], name: string | undefined) {
  const map = document.getIn(path, true);
  const pair = isMap(map) ? map.items.find(({ key }) => isScalar(key) && String(key.value) === name) : undefined;
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}

/** Returns the offset of the node at a path, or of its nearest existing parent. */
function nodeAt(document: ReturnType<typeof parseDocument>, path: string[]): number | undefined {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const keys = path.slice(0, depth).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    const node = document.getIn(keys, true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
      return Number(node.range[0]);
  }
  return undefined;
}

/** Returns one spelling for each address, because stored records identify the control plane by it. */
const normalize = (url: string) => new URL(url).href.replace(/\/+$/, '');
