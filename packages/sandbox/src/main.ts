#!/usr/bin/env node
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createSandbox, type Sandbox } from './sandbox.ts';

const help = `Usage: keywarden-sandbox [--port NUMBER] [--data FOLDER]

Runs a hosted-Postgres control plane on 127.0.0.1 until it is stopped.

  --port NUMBER   the port to listen on; 0 picks a free port (default: SANDBOX_PORT, or 8810)
  --data FOLDER   the folder of its state and the administrator's key (default: KEYWARDEN_DATA, or .keywarden)
  --help          prints this help

Example: keywarden-sandbox --port 0 --data /tmp/sandbox
`;

/** Runs the sandbox as a command. Its state, the administrator's key and the address are in files of one folder. */
async function main(): Promise<void> {
  const options = readOptions();
  if (options.help === true) {
    process.stdout.write(help);
    return;
  }
  const data = resolve(options.data ?? (process.env.KEYWARDEN_DATA || '.keywarden'));
  const port = readPort(options.port ?? process.env.SANDBOX_PORT ?? '8810');
  try {
    makeFolder(data);
    writeFileSync(join(data, '.writable'), '');
    rmSync(join(data, '.writable'));
  } catch (error) {
    fail(1, `The data folder ${data} cannot be written (${codeOf(error)}); set KEYWARDEN_DATA to a writable folder.`);
  }
  const adminKey = process.env.SANDBOX_ADMIN_KEY || readIfThere(join(data, 'sandbox-admin-key'));
  if (/\s/.test(adminKey ?? '')) fail(2, 'SANDBOX_ADMIN_KEY must not contain spaces.');
  const sandbox = await open(data, { port, ...(adminKey ? { adminKey } : {}) });
  writeFileSync(join(data, 'sandbox-admin-key'), `${sandbox.adminKey}\n`, { mode: 0o600 });
  writeFileSync(join(data, 'sandbox-id'), `${sandbox.id}\n`);
  writeFileSync(join(data, 'sandbox-url'), `${sandbox.url}\n`);
  process.send?.({ ready: { url: sandbox.url, controlUrl: sandbox.controlUrl, isEmpty: sandbox.isEmpty } });
  console.log(`The sandbox's control plane listens on ${sandbox.url}`);
  console.log(
    `Its administrator's key is in ${join(data, 'sandbox-admin-key')}; its own controls are below ${sandbox.controlUrl}`,
  );
  if (sandbox.isEmpty)
    console.log(
      `It has no company yet: curl -X POST -H 'content-type: application/json' -d '{}' ${sandbox.controlUrl}/generate`,
    );
  stopOnce(async () => {
    rmSync(join(data, 'sandbox-url'), { force: true });
    await sandbox.close();
  });
}

/** Opens the sandbox, or explains in one sentence why it cannot. */
async function open(data: string, options: { port: number; adminKey?: string }): Promise<Sandbox> {
  try {
    return await createSandbox({ file: join(data, 'sandbox.sqlite'), ...options });
  } catch (error) {
    if (error instanceof Error && error.message.includes('database is locked')) {
      const repair = 'stop it, or set KEYWARDEN_DATA to another folder';
      fail(1, `Another sandbox runs on the data folder ${data}, perhaps another npm start; ${repair}.`);
    }
    if (error instanceof Error && /newer version|not a database|malformed/.test(error.message)) {
      const repair = 'use the version that wrote it, or set KEYWARDEN_DATA to another folder';
      fail(1, `The sandbox's state in ${data} cannot be read: ${error.message}; ${repair}.`);
    }
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    const repair = 'end the program that listens there, or set SANDBOX_PORT to another port (0 picks a free one)';
    return fail(1, `Port ${options.port} is taken; ${repair}.`);
  }
}

function readOptions() {
  try {
    const text = { type: 'string' } as const;
    return parseArgs({ options: { port: text, data: text, help: { type: 'boolean' } } }).values;
  } catch (error) {
    const what = error instanceof Error ? error.message.split('. ')[0] : String(error);
    return fail(2, `${what}; see keywarden-sandbox --help.`);
  }
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  return fail(2, `The port (--port, SANDBOX_PORT) must be from 0 to 65535, and "${text}" is not.`);
}

/** Makes parents first, one by one: a recursive mkdir of Node does not end below /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined; // the first start creates it
  }
}

/** Stops cleanly on a signal, or when the parent process is gone. */
function stopOnce(stop: () => Promise<void>): void {
  let stopping = false;
  const begin = () => {
    if (stopping) return;
    stopping = true;
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.on(signal, begin);
  process.channel?.unref();
}

function fail(code: number, message: string): never {
  console.error(message);
  process.exit(code);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

await main();
