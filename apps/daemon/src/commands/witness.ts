import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createSigningKey, keyAlgorithms, parseSigningKey, parseVerifier, type Signer } from '@keywarden/core/ledger';
import {
  aborted,
  codeOf,
  createDataFile,
  createLogger,
  ensureDataFolder,
  exitCode,
  listen,
  readDataFile,
  readEnvironment,
  stopSignal,
  UserError,
  usageError,
} from '@keywarden/runtime';
import { createWitness, holdWitnessFolder } from '../witness/witness.ts';
import { describeCommand } from './command.ts';
import { requireOneOf } from './common.ts';

const keyFile = 'witness-key';

export const witnessCommand = describeCommand({
  name: 'witness',
  about: 'Run a witness: a process that cosigns the checkpoints of ledgers elsewhere, if they are consistent',
  required: { '--log <key...>': 'public keys of the ledgers that it knows' },
  options: {
    '--name <name>': 'the name of its key, at its first start: witness.example/one',
    '--algorithm <name>': 'the algorithm of its key, at its first start: ed25519, or ml-dsa-44',
    '--host <address>': { about: 'the address to listen on', value: '127.0.0.1' },
    '--port <number>': { about: 'the port', value: '8840' },
  },
  output: 'text',
  examples: ['--name witness.example/one --log keywarden/0123456789ab+01234567+AQ==...'],
  /** It needs neither a store nor a configuration. */
  async run({ log: logs, name, algorithm, host, port }) {
    const environment = readEnvironment(process.env);
    const log = createLogger('witness', environment);
    const { KEYWARDEN_DATA: folder } = environment;
    ensureDataFolder(folder);
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
      throw usageError(`"${port}" is no port; name a number from 0 to 65535.`);
    const known = logs.map((text) => {
      const verifier = parseVerifier(text);
      if (verifier?.kind !== 'log')
        throw usageError(`"${text}" is no public key of a ledger; keywarden ledger prints it.`);
      return verifier;
    });
    const release = holdWitnessFolder(folder);
    const signer = readKey(folder, { name, algorithm });
    const app = createWitness({ signer, logs: known, folder, now: Date.now });
    app.onError((error, c) => {
      log.error({ err: error }, 'a checkpoint could not be cosigned');
      return c.text('The witness cannot cosign now.\n', 503);
    });
    const signal = stopSignal();
    const answer = getRequestListener(app.fetch, { hostname: host });
    const server = createServer((request, response) => void answer(request, response));
    const listening = await listen(server, { host, port: Number(port) }).catch((error: unknown) => {
      const message = `The witness cannot listen on ${host}:${port} (${codeOf(error)}); name another --host or --port.`;
      throw new UserError('listen', message, { cause: error });
    });
    const url = `http://${listening.address}`;
    log.info({ url, public_key: signer.verifier.text }, 'the witness cosigns checkpoints');
    await aborted(signal);
    await listening.close();
    release();
    return exitCode.done;
  },
});

/** Returns the witness's key. The first start with a name creates it. */
function readKey(folder: string, given: { name?: string | undefined; algorithm?: string | undefined }): Signer {
  const { name, algorithm } = given;
  const wanted = algorithm === undefined ? undefined : requireOneOf(algorithm, keyAlgorithms, 'algorithm');
  if (readDataFile(folder, keyFile) === undefined) {
    if (name === undefined || !/^[^\s+]+$/.test(name) || Buffer.byteLength(name) > 255)
      throw usageError(
        'The first start of a witness needs --name, without a space or a plus, and with at most 255 bytes: witness.example/one.',
      );
    createDataFile(folder, keyFile, createSigningKey(name, 'witness', wanted));
  }
  const signer = parseSigningKey(readDataFile(folder, keyFile) ?? '');
  if (signer?.verifier.kind !== 'witness')
    throw usageError(`${folder}/${keyFile} is no private key of a witness; restore it from its backup.`);
  const own = signer.verifier;
  if (name !== undefined && name !== own.name)
    throw usageError(`The key in ${folder}/${keyFile} is of ${own.name}; leave out --name.`);
  if (wanted !== undefined && wanted !== own.algorithm)
    throw usageError(`The key in ${folder}/${keyFile} is of ${own.algorithm}; leave out --algorithm.`);
  return signer;
}
