import { readFileSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import type { RunKind } from '@keywarden/db/daemon';
import { exitCode, usageError } from '@keywarden/runtime';
import { configJsonSchema } from '@keywarden/runtime/config';
import { Command, CommanderError } from 'commander';
import { addHelp, sentence } from './command-help.ts';
import { type ApplyOptions, applyCommand } from './commands/apply.ts';
import { backtestCommand } from './commands/backtest.ts';
import { checkCommand } from './commands/check.ts';
import { coverageCommand } from './commands/coverage.ts';
import { sessionListCommand, sessionRevokeCommand } from './commands/dashboard-sessions.ts';
import { enforceCommand } from './commands/enforce.ts';
import { type ExemptOptions, exemptCommand, exemptionsCommand } from './commands/exemptions.ts';
import { incidentsCommand } from './commands/incidents.ts';
import { type KeysOptions, keysListCommand, keysShowCommand, ownerListCommand } from './commands/keys.ts';
import { type LedgerOptions, ledgerCommand, type ReceiptOptions, receiptCommand } from './commands/ledger.ts';
import { migrateCommand } from './commands/migrate.ts';
import { addOutput, type OutputOptions } from './commands/output.ts';
import { ownerImportCommand, ownerSetCommand } from './commands/owners.ts';
import { armCommand, disarmCommand, pauseCommand, resumeCommand } from './commands/pause.ts';
import { type PlanOptions, planCommand } from './commands/plan.ts';
import { retentionCommand } from './commands/retention.ts';
import { type RotateOptions, rotateCommand } from './commands/rotate.ts';
import { type RotationsOptions, rotationsCommand } from './commands/rotations.ts';
import { type SyncOptions, syncCommand } from './commands/sync.ts';
import { tokenCreateCommand, tokenListCommand, tokenRevokeCommand } from './commands/token.ts';
import { copyLedgerCommand, type VerifyOptions, verifyCommand } from './commands/verify.ts';
import { type WitnessOptions, witnessCommand } from './commands/witness.ts';

const syncDescriptions: Record<RunKind, string> = {
  keys: 'List the API keys once, and store what changed',
  operations: 'Read the new operations once, and store them',
  credentials: 'List the other credentials of projects and branches once',
};

/** Runs the command that `words` name and returns its exit code. Throws a UserError if they name no command. */
export async function runCommandLine(words: string[]): Promise<number> {
  let code: number = exitCode.done;
  try {
    await describe((each) => {
      code = each;
    }).parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || error.code === 'commander.help')
      return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    throw usageError(`${sentence(error.message)} Run keywarden --help to list the commands.`);
  }
  return code;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Returns the description of the command line. Each command passes its exit code to `done`. */
export function describe(done: (code: number) => void): Command {
  const program = new Command('keywarden')
    .description("Governs a hosted-Postgres control plane's API keys and keeps its operations history.")
    .version(version, '--version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .showSuggestionAfterError();
  program
    .command('run')
    .description('Start the daemon: sync, plan, notify, enforce and rotate on a schedule')
    .action(async () => {
      // The queues take a while to load, and no other command needs them.
      const { runCommand } = await import('./commands/run.ts');
      done(await runCommand());
    });
  const sync = program.command('sync').description('List keys and read operations once');
  for (const kind of ['keys', 'operations', 'credentials'] as const)
    withSyncOptions(sync.command(kind).description(syncDescriptions[kind]), kind);
  withSyncOptions(sync, undefined);
  program
    .command('plan')
    .description('Judge the keys by the policy, and print and store the plan; this revokes nothing')
    .option('--organization <id>', 'make the part of the plan with the keys of this organization')
    .option('--review <number>', 'make the part with the keys that this signed access review decided to revoke')
    .option('--rule <name>', 'make the part with the keys that this rule flags')
    .option('--key <number...>', 'make the part with these keys, by their numbers in the store')
    .action(async (options: PlanOptions) => done(await planCommand(options)));
  program
    .command('apply')
    .description('Approve exactly one plan, and revoke its keys')
    .argument('<plan-id>', 'the id that plan printed')
    .option('--yes', 'do not ask for confirmation')
    .action(async (planId: string, options: ApplyOptions) => done(await applyCommand(planId, options)));
  program
    .command('enforce')
    .description('Make one enforcement pass: list, plan, notify, and revoke what is in mode: enforce')
    .action(async (options: OutputOptions) => done(await enforceCommand(options)));
  program
    .command('rotate')
    .description('Start or continue the rotation of keys; without a key, do what the daemon does on its schedule')
    .argument('[key...]', 'ids of keys')
    .option('--sink <name>', 'deliver the new secrets to this sink instead of the sink of the rule')
    .action(async (keys: string[], options: RotateOptions) => done(await rotateCommand(keys, options)));
  program
    .command('rotations')
    .description('List the open rotations with their states, or end one')
    .option('--all', 'list ended rotations, too')
    .option('--give-up <id>', 'end this rotation, and keep both of its keys')
    .action(async (options: RotationsOptions) => done(await rotationsCommand(options)));
  program
    .command('pause')
    .description('Stop every replica before its next revocation, until resume')
    .option('--reason <text>', 'the reason, which incidents and check show')
    .action(async (options: OutputOptions & { reason?: string }) => done(await pauseCommand(options)));
  program
    .command('resume')
    .description('End the pause; for now, this also permits automatic enforcement as arm does')
    .action(async (options: OutputOptions) => done(await resumeCommand(options)));
  program
    .command('arm')
    .description('Permit automatic enforcement on this machine, once you have checked the store')
    .action(async (options: OutputOptions) => done(await armCommand(options)));
  program
    .command('disarm')
    .description('Withdraw that permission; plans that a person approves are still carried out')
    .action(async (options: OutputOptions) => done(await disarmCommand(options)));
  program
    .command('incidents')
    .description('List what a person must examine, or close one incident')
    .option('--all', 'list closed incidents, too')
    .option('--close <number>', 'close this incident')
    .option('--note <text>', 'what you found out')
    .action(async (options: OutputOptions & { all?: boolean; close?: string; note?: string }) =>
      done(await incidentsCommand(options)),
    );
  program
    .command('exempt')
    .description('Exempt existing keys from the policy for a time')
    .argument('[key...]', 'ids of keys')
    .option('--name <pattern>', 'exempt the keys whose name matches: ci-*')
    .option('--organization <id>', 'exempt the keys of this organization')
    .option('--kind <kind>', 'exempt the keys of this kind: personal, organization or project')
    .option('--rule <name...>', 'exempt from these rules only')
    .requiredOption('--reason <text>', 'the reason')
    .requiredOption('--until <when>', 'a date, or a duration from now: 2027-03-31, 90d')
    .action(async (keys: string[], options: ExemptOptions) => done(await exemptCommand(keys, options)));
  program
    .command('exemptions')
    .description('List the exemptions in force, or end one')
    .option('--all', 'list lapsed and ended exemptions, too')
    .option('--end <number>', 'end this exemption now')
    .action(async (options: OutputOptions & { all?: boolean; end?: string }) => done(await exemptionsCommand(options)));
  const keys = program.command('keys').description('Look at the stored API keys');
  keys
    .command('list')
    .description('List the keys that exist, with owner, state and last use')
    .option('--organization <id>', 'only keys of this organization')
    .option('--owner <name>', 'only keys of this owner')
    .option('--name <text>', 'only keys whose name contains this')
    .option('--state <state>', 'only keys in this state: active, missing or gone')
    .option('--idle-for <duration>', 'only keys that were not used for longer than this: 90d')
    .action(async (options: KeysOptions) => done(await keysListCommand(options)));
  keys
    .command('show')
    .description('Show one key with its uses and changes')
    .argument('<key>', 'the id of the key')
    .action(async (key: string, options: OutputOptions) => done(await keysShowCommand(key, options)));
  const owner = program.command('owner').description('Assign owners to keys; by default the creator is the owner');
  owner
    .command('list')
    .description('List the owners of keys, each with the number of their keys')
    .action(async (options: OutputOptions) => done(await ownerListCommand(options)));
  owner
    .command('set')
    .description('Assign an owner to one key')
    .argument('<key>', 'the id of the key')
    .option('--owner <name>', 'an email address or a name; the default is the creator of the key')
    .action(async (key: string, options: OutputOptions & { owner?: string }) =>
      done(await ownerSetCommand(key, options)),
    );
  owner
    .command('import')
    .description('Assign the owners in a CSV file with the columns key_id and owner: all of them, or none')
    .argument('<file>', 'the CSV file')
    .action(async (file: string, options: OutputOptions) => done(await ownerImportCommand(file, options)));
  program
    .command('backtest')
    .description('Replay a policy over past observations: list what it would have revoked, and what was used later')
    .requiredOption('--from <date>', 'the first day: 2026-03-31')
    .option('--policy <file>', 'a configuration file with another policy')
    .action(async (options: OutputOptions & { from: string; policy?: string }) => done(await backtestCommand(options)));
  program
    .command('coverage')
    .description('List the times for which the archive has every operation, and each gap with its reason')
    .option('--project <id>', 'list each interval of this project')
    .option('--keys', 'list when the keys of each scope were listed completely')
    .option('--rejected', 'list the rows that could not be read, with the reason')
    .action(async (options: OutputOptions & { project?: string; keys?: boolean; rejected?: boolean }) =>
      done(await coverageCommand(options)),
    );
  program
    .command('retention')
    .description('List the months of operations that exceed retention.operations, or drop them')
    .option('--drop', 'drop these months now')
    .action(async (options: OutputOptions & { drop?: boolean }) => done(await retentionCommand(options)));
  program
    .command('ledger')
    .description('Show the ledger of governance events and its public key, and check it')
    .option('--check', 'compare every governed row, event, hash and sealed operation in the store')
    .option('--create-key', 'create the key of a new ledger, as the first daemon does')
    .option('--rotate-key', 'add a key; checkpoints are signed with both keys from now on')
    .option('--end-former-keys', 'sign with the newest key only')
    .option('--begin-anew <reason>', 'begin a new ledger with a new key, after a restore or without the former key')
    .action(async (options: LedgerOptions) => done(await ledgerCommand(options)));
  program
    .command('receipt')
    .description('Print a file that proves offline that the ledger has an event')
    .argument('<subject>', 'the row that the event is about: plan_approval/17')
    .option('--type <type>', 'the event, if the row has several: incident.closed')
    .action(async (subject: string, options: ReceiptOptions) => done(await receiptCommand(subject, options)));
  program
    .command('verify')
    .description('Check receipts, archives and copies of a ledger offline, with its public key')
    .argument('<file...>', 'receipts, archives of evidence or of operations, folders with a copy of the ledger')
    .requiredOption('--key <key...>', 'public keys of the ledger and of its witnesses')
    .action(async (files: string[], options: VerifyOptions) => done(await verifyCommand(files, options)));
  program
    .command('copy-ledger')
    .description('Download the ledger of a report into a folder, or continue a copy, and verify it')
    .argument('<report>', 'the address of a report, for which AUDITOR_TOKEN is a token of role auditor')
    .argument('<folder>', 'a new folder, or one with an earlier copy')
    .requiredOption('--key <key...>', 'public keys of the ledger and of its witnesses')
    .action(async (report: string, folder: string, options: VerifyOptions) =>
      done(await copyLedgerCommand(report, folder, options)),
    );
  program
    .command('witness')
    .description('Run a witness: a process that cosigns the checkpoints of ledgers elsewhere, if they are consistent')
    .requiredOption('--log <key...>', 'public keys of the ledgers that it knows')
    .option('--name <name>', 'the name of its key, at its first start: witness.example/one')
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port', '8840')
    .action(async (options: WitnessOptions) => done(await witnessCommand(options)));
  const token = program.command('token').description('Manage the tokens of the report');
  token
    .command('create')
    .description('Create a token, and print it once')
    .requiredOption('--name <name>', 'the name of its holder')
    .requiredOption('--role <role>', 'viewer, auditor or operator')
    .option('--organization <id...>', 'show only these organizations')
    .option('--expires <date>', 'a date, a duration from now, or never (default: 90d)')
    .action(
      async (options: OutputOptions & { name: string; role: string; organization?: string[]; expires?: string }) =>
        done(await tokenCreateCommand(options)),
    );
  token
    .command('list')
    .description('List the tokens without their secrets')
    .action(async (options: OutputOptions) => done(await tokenListCommand(options)));
  token
    .command('revoke')
    .description('Revoke a token permanently')
    .argument('<id>', 'the id that token list prints')
    .action(async (id: string, options: OutputOptions) => done(await tokenRevokeCommand(id, options)));
  const session = program.command('session').description('Manage the sessions of the dashboard');
  session
    .command('list')
    .description('List the sessions, newest first')
    .action(async (options: OutputOptions) => done(await sessionListCommand(options)));
  session
    .command('revoke')
    .description('End a session; its browser must sign in again')
    .argument('<id>', 'the id that session list prints')
    .action(async (id: string, options: OutputOptions) => done(await sessionRevokeCommand(id, options)));
  program
    .command('check')
    .description('Check the configuration, the database, the credentials and the clock')
    .action(async (options: OutputOptions) => done(await checkCommand(options)));
  program
    .command('schema')
    .description('Print the JSON Schema of keywarden.yaml for editors')
    .action(() => {
      console.log(JSON.stringify(configJsonSchema(), null, 2));
      done(exitCode.done);
    });
  program
    .command('migrate')
    .description('Update the database schema')
    .option('--citus', 'distribute the operations over the nodes of a Citus cluster')
    .action(async (options: { citus?: boolean }) => done(await migrateCommand(options)));
  addOutput(program);
  // Adds `completion SHELL`, and `complete`, which its scripts call.
  tab(program, { completionCommandName: 'completion' });
  addHelp(program);
  return program;

  function withSyncOptions(command: Command, kind: RunKind | undefined): void {
    command
      .option('--connection <name>', 'use only this connection')
      .option('--json', 'print JSON')
      .action(async (_options: SyncOptions, self: Command) => done(await syncCommand(kind, self.optsWithGlobals())));
  }
}
