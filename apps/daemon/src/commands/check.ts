import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ControlPlaneError, collect } from '@keywarden/core/client';
import { countOf } from '@keywarden/core/values';
import { listLastingTokens, listLostSuccessors, listSuspectScopes } from '@keywarden/db/daemon';
import {
  assertAppLogin,
  isEncrypted,
  listBlockers,
  listMisplacedTables,
  listShortLimits,
  listUnsafeSettings,
  openStore,
  whyNodesMissing,
} from '@keywarden/db/store';
import {
  codeOf,
  type Environment,
  exitCode,
  explain,
  readEnvironment,
  stopSignal,
  UserError,
  writeDataFile,
} from '@keywarden/runtime';
import { type Config, readConfig } from '@keywarden/runtime/config';
import { type Identity, identify } from '../connect.ts';
import { clockInWords, isClockTrusted, whyStoreApart } from '../control-plane-clock.ts';
import { type Permissions, readPermissions } from '../enforce/standing.ts';
import { fileSink } from '../rotate/sinks/file.ts';
import { listMixedSinks, openSink } from '../rotate/sinks/open.ts';
import { readOwnOrganization } from '../sync/organizations.ts';
import { type CheckReport, createCheckReport } from './check-report.ts';
import { describeCommand } from './command.ts';
import { lostInWords } from './common.ts';
import { listExposures } from './exposures.ts';

export const checkCommand = describeCommand({
  name: 'check',
  about: 'Check the configuration, the database, the credentials and the clock',
  output: 'list',
  examples: [''],
  needsPerson:
    'a listing is suspect, a setting of the server is unsafe, a limit of connections is too low, a statement waits for a lock, or a table of a cluster is in the wrong place',
  async run({ output }): Promise<number> {
    const report = createCheckReport(output);
    const signal = stopSignal();
    const environment = readEnvironment(process.env);
    const config = readConfig(environment, process.env);
    const names = config.connections.map((connection) => connection.name).join(', ');
    const rules = countOf(config.policy.rules.length, 'rule');
    report.add('configuration', 'ok', `connections ${names}; ${rules}`);
    let isWritable = false;
    await checkPart(report, 'data folder', async () => {
      checkDataFolder(environment.KEYWARDEN_DATA);
      isWritable = true;
      return environment.KEYWARDEN_DATA;
    });
    let stored: Stored | undefined;
    await checkPart(report, 'database', async () => {
      stored = await readStored(config, environment, isWritable);
      return stored.description;
    });
    if (stored !== undefined) reportStored(report, stored);
    for (const sink of config.sinks) await checkSink(report, sink);
    for (const mixed of listMixedSinks(config)) report.add('sink', 'warning', mixed);
    for (const configured of config.connections) {
      let identity: Identity | undefined;
      await checkPart(report, 'credential', async () => {
        identity = await identify(configured, { config, limiters: new Map(), signal });
        const whose = identity.isPersonal ? 'user' : 'organization';
        if (!identity.isPersonal) await readOwnOrganization(identity, signal);
        return `${configured.name} acts for ${whose} ${identity.accountId} at ${configured.url}${await ownKeyInWords(configured, identity, signal)}`;
      });
      if (identity !== undefined) checkClock(report, config.policy, identity);
    }
    const worst = report.end();
    const isSuspect = stored !== undefined && stored.unsafe.length + stored.suspectScopes.length > 0;
    return worst === exitCode.done && isSuspect ? exitCode.needsPerson : worst;
  },
});

type Stored = Awaited<ReturnType<typeof readStored>>;

/** Writes a file as the mark of this machine is written: nothing else shows that a disk is full. Throws a UserError if that fails. */
function checkDataFolder(folder: string): void {
  const name = 'check';
  try {
    writeDataFile(folder, name, '');
    rmSync(join(folder, name));
  } catch (error) {
    if (error instanceof UserError) throw error;
    const message = `${folder} cannot be written (${codeOf(error)}), and nothing is enforced; free space on its disk`;
    throw new UserError('store', message, { cause: error });
  }
}

const unwritable = 'the data folder cannot be written';
const nothing: Permissions = { whyNotAutomatic: unwritable, approvals: { why: unwritable, since: null } };

/** Returns what the database shows of itself, and of what this machine may carry out. */
async function readStored(config: Config, environment: Environment, isWritable: boolean) {
  const store = await openStore({
    databaseUrl: environment.DATABASE_URL,
    dataFolder: environment.KEYWARDEN_DATA,
    applicationName: 'keywarden check',
    role: 'keywarden_daemon',
  });
  try {
    if (!environment.ALLOW_OWNER_LOGIN) await assertAppLogin(store.sql);
    const context = { store, environment, config, now: Date.now, signal: new AbortController().signal };
    const { whyNotAutomatic, approvals } = isWritable ? await readPermissions(context) : nothing;
    return {
      description: store.description,
      enforcement: describeEnforcement(config, whyNotAutomatic),
      approvals,
      unsafe: [
        ...(await listUnsafeSettings(store.sql)),
        ...(await listShortLimits(store.sql)),
        ...(await listMisplacedTables(store.sql)),
        ...(await listBlockers(store.sql)),
      ],
      exposures: listExposures(environment.KEYWARDEN_DATA, {
        url: environment.DATABASE_URL,
        isEncrypted: await isEncrypted(store.sql),
      }),
      suspectScopes: await listSuspectScopes(store.sql),
      lasting: await listLastingTokens(store.db),
      lostSuccessors: await listLostSuccessors(store.db),
      missingNodes: await whyNodesMissing(store.sql),
      whyApart: await whyStoreApart(context),
    };
  } finally {
    await store.close();
  }
}

function reportStored(report: CheckReport, stored: Stored): void {
  const { missingNodes } = stored;
  if (missingNodes !== null) report.add('database', 'failed', missingNodes);
  if (stored.whyApart !== null) report.add('clock', 'failed', apartInWords(stored.whyApart));
  for (const setting of stored.unsafe) report.add('database', 'warning', setting);
  for (const exposure of stored.exposures) report.add('deployment', 'warning', exposure);
  for (const { number, name } of stored.lasting)
    report.add('tokens', 'warning', `token ${number} of ${name} never expires; replace it by one with --expires`);
  report.add('enforcement', 'ok', stored.enforcement);
  reportApprovals(report, stored.approvals);
  for (const { scope, since, why: whySuspect } of stored.suspectScopes) {
    const why = `each listing of the keys of ${scope} is suspect since ${since}, and none of them is revoked: ${whySuspect}`;
    report.add('listings', 'warning', why);
  }
  if (stored.lostSuccessors.length > 0) {
    const fix = 'If a rule may revoke one of them, assign its owner and exemptions again before you run keywarden arm.';
    report.add('successors', 'warning', `${lostInWords(stored.lostSuccessors)} ${fix}`);
  }
}

/** Describes what the policy may do automatically on this machine, and where notifications go. */
function describeEnforcement({ policy, channels }: Config, why: Permissions['whyNotAutomatic']): string {
  const enforced = policy.rules.filter((rule) => rule.mode === 'enforce').length;
  const notices = channels.length === 0 ? '' : `; notices go to ${channels.map(({ name }) => name).join(', ')}`;
  if (enforced === 0) return `no rule is in mode: enforce${notices}`;
  return `${countOf(enforced, 'rule')} in mode: enforce${why === null ? '' : `, but no key is revoked automatically: ${why}`}${notices}`;
}

/** Reports which approvals of the report the next pass on this machine carries out. */
function reportApprovals(report: CheckReport, { why, since }: Permissions['approvals']): void {
  if (why !== null) report.add('approvals', 'blocked', `no plan that is approved in the report is carried out: ${why}`);
  else if (since === null) report.add('approvals', 'ok', 'plans that are approved in the report are carried out');
  else {
    const later = `plans that were approved in the report after ${since} are carried out`;
    report.add('approvals', 'ok', `${later}; earlier ones need keywarden arm, or another approval`);
  }
}

/** Describes the connection's own key. No listing may show an id that is wrong, and then nothing is revoked (R2). */
async function ownKeyInWords(
  { keyId }: Config['connections'][number],
  { client, isPersonal, accountId }: Identity,
  signal: AbortSignal,
): Promise<string> {
  const unknown = (why: string, fix: string) =>
    `; its own key is unknown${why}, and no key that it can list is revoked: ${fix}`;
  if (keyId === null) return unknown('', 'set key_id');
  const pages = isPersonal ? client.personalKeys({ signal }) : client.organizationKeys(accountId, { signal });
  const listed = await collect(pages).catch((error: unknown) => {
    if (error instanceof ControlPlaneError) return null; // a pass reports why its keys cannot be listed
    throw error;
  });
  const isUnlisted = listed !== null && !listed.items.some(({ id }) => id === keyId);
  return isUnlisted ? unknown(`, because it lists no key ${keyId}`, 'correct key_id') : `; its own key is ${keyId}`;
}

/** Checks a sink as far as that is possible without a key. */
async function checkSink(report: CheckReport, sink: Config['sinks'][number]): Promise<void> {
  const target = {
    controlPlane: 'x',
    lineage: '1',
    name: 'key',
    kind: 'organization',
    organization: 'x',
    project: 'x',
    rotation: '',
    oldKeyId: '1',
  };
  // Only the folder before the first brace of a path must exist already.
  const [before = ''] = sink.kind === 'file' ? sink.path.split('{') : [];
  const opened =
    sink.kind === 'file' ? fileSink(join(dirname(`${before}x`), 'x')) : openSink(sink, target, process.env);
  const why = await opened.check();
  if (why === null) report.add('sink', 'ok', `${sink.name}, a ${sink.kind}`);
  else report.add('sink', 'failed', `${sink.name} cannot receive a secret: ${why}; fix it in sinks`);
}

function checkClock(report: CheckReport, policy: Config['policy'], identity: Identity): void {
  const { name, skewMs, isSandbox } = identity;
  if (!isClockTrusted(policy, identity)) report.add('clock', 'failed', apartInWords(clockInWords(`${name}'s`, skewMs)));
  else
    report.add(
      'clock',
      'ok',
      isSandbox ? 'the sandbox keeps its own time' : `${(Math.abs(skewMs) / 1000).toFixed(0)} s from ${name}'s`,
    );
}

const apartInWords = (apart: string) => `${apart}, more than max_clock_skew; correct the clock that is wrong.`;

async function checkPart(report: CheckReport, check: string, work: () => Promise<string>): Promise<void> {
  try {
    report.add(check, 'ok', await work());
  } catch (error) {
    report.add(check, 'failed', ...explain(error));
  }
}
