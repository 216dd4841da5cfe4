import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSigningKey, type KeyAlgorithm, parseSigningKey, type Signer } from '@keywarden/core/ledger';
import { createWitness } from '@keywarden/daemon';
import { afterEach, beforeEach } from 'vitest';
import { listen, listenWith } from '../report/served.ts';
import { type Machine, machines } from './ledger-machines.ts';

/** Creates the key of a log or of a witness. */
export function createSigner(
  name: string,
  kind: 'log' | 'witness',
  algorithm?: KeyAlgorithm,
): Signer & { text: string } {
  const text = createSigningKey(name, kind, algorithm);
  const signer = parseSigningKey(text);
  if (signer === null) throw new Error('no key');
  return { ...signer, text };
}

export const witnessKey = createSigner('witness.example/one', 'witness');
/** A key of the same witness with ML-DSA-44. */
export const otherWitnessKey = createSigner('witness.example/one', 'witness', 'ml-dsa-44');
export const log = createSigner('keywarden/log', 'log');
/** The clock of the witness and of the log's machines. It is later than the recording of any event. */
export const now = () => Date.parse('2999-05-01T00:00:00Z');

/** The data folder of the running test's witness; `useWitness` makes it before each test. */
export let witnessFolder: string;
const closing: (() => Promise<unknown>)[] = [];

/** Makes a folder for the witness of each test of a file, and ends what the test started. */
export function useWitness(): void {
  beforeEach(() => {
    witnessFolder = mkdtempSync(join(tmpdir(), 'keywarden-witness-'));
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    rmSync(witnessFolder, { recursive: true });
  });
}

/** Starts the witness over HTTP, and returns its address. */
export async function startWitness(
  logs = [log.verifier],
  { signer = witnessKey, folder = witnessFolder }: { signer?: Signer; folder?: string } = {},
): Promise<string> {
  const app = createWitness({ signer, logs, folder, now });
  app.onError((_error, c) => c.text('cannot\n', 503));
  const served = await listen(app);
  closing.push(served.close);
  return served.url;
}

/** Starts a server that answers each request in the same way, and returns its address. */
export async function startAnswer(answer: (response: ServerResponse) => Promise<void> | void): Promise<string> {
  const served = await listenWith(createServer((_request, response) => void answer(response)));
  closing.push(served.close);
  return served.url;
}

/** Creates a machine with the log's key, a new data folder and this address of the witness. Its file needs `useMachines`. */
export async function createLogMachine(url: string): Promise<Machine> {
  const LEDGER_WITNESSES = `${witnessKey.verifier.text} ${url}`;
  return { ...(await machines.create({ LEDGER_KEY: log.text, LEDGER_WITNESSES })), now };
}

/** Returns a machine with the same data folder that knows the witness by another address, or its two keys by an address each. */
export function movedTo(machine: Machine, ...urls: string[]): Machine {
  const keys = [witnessKey, otherWitnessKey];
  const LEDGER_WITNESSES = urls.map((url, index) => `${keys[index]?.verifier.text} ${url}`).join('\n');
  return { ...machine, environment: { ...machine.environment, LEDGER_WITNESSES } };
}
