import type { RunKind } from '@keywarden/db/daemon';
import { exitCode, usageError } from '@keywarden/runtime';
import { configJsonSchema } from '@keywarden/runtime/config';
import { Command, CommanderError } from 'commander';
import { type ApplyOptions, applyCommand } from './commands/apply.ts';
import { backtestCommand } from './commands/backtest.ts';
import { checkCommand } from './commands/check.ts';
import { coverageCommand } from './commands/coverage.ts';
import { enforceCommand } from './commands/enforce.ts';
import { type ExemptOptions, exemptCommand, exemptionsCommand } from './commands/exemptions.ts';
import { incidentsCommand } from './commands/incidents.ts';
import { migrateCommand } from './commands/migrate.ts';
import { ownerImportCommand, ownerSetCommand } from './commands/owners.ts';
import { pauseCommand, resumeCommand } from './commands/pause.ts';
import { planCommand } from './commands/plan.ts';
import { retentionCommand } from './commands/retention.ts';
import { type RotateOptions, rotateCommand } from './commands/rotate.ts';
import { type RotationsOptions, rotationsCommand } from './commands/rotations.ts';
import { type SyncOptions, syncCommand } from './commands/sync.ts';
import { tokenCreateCommand, tokenListCommand, tokenRevokeCommand } from './commands/token.ts';

const syncDescriptions: Record<RunKind, string> = {
  keys: 'one pass over API keys',
  operations: 'one pass over operations',
  credentials: 'one pass over the credentials of projects and branches',
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
    throw usageError(`${sentence(error.message)} Run keywarden --help to see what there is.`);
  }
  return code;
}

/** Returns the command line's description. Each command passes its exit code to `done`. */
function describe(done: (code: number) => void): Command {
  const program = new Command('keywarden')
    .description("Governs a hosted-Postgres control plane's API keys and keeps its operations history.")
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .showSuggestionAfterError();
  program
    .command('run')
    .description('the daemon: syncs, plans and announces by schedule, and revokes what is in mode: enforce')
    .action(async () => {
      // The queues take a while to load, and no other command needs them.
      const { runCommand } = await import('./commands/run.ts');
      done(await runCommand());
    });
  const sync = program.command('sync').description('one pass over keys and operations');
  for (const kind of ['keys', 'operations', 'credentials'] as const)
    withSyncOptions(sync.command(kind).description(syncDescriptions[kind]), kind);
  withSyncOptions(sync, undefined);
  program
    .command('plan')
    .description('judge the keys by the policy, print and store the plan; changes nothing upstream')
    .option('--json', 'for machines')
    .action(async (options: { json?: boolean }) => done(await planCommand(options)));
  program
    .command('apply')
    .description('approve and carry out exactly that plan, or refuse')
    .argument('<plan-id>')
    .option('--yes', 'do not ask')
    .option('--json', 'for machines')
    .action(async (planId: string, options: ApplyOptions) => done(await applyCommand(planId, options)));
  program
    .command('enforce')
    .description('one pass of what the daemon does by schedule: list, plan, announce, revoke what is in mode: enforce')
    .option('--json', 'for machines')
    .action(async (options: { json?: boolean }) => done(await enforceCommand(options)));
  program
    .command('rotate')
    .description('begin the rotation of these keys, or move it on; without one what the daemon does by schedule')
    .argument('[key...]', 'their ids')
    .option('--sink <name>', 'where the new secrets go, whatever a rule says')
    .option('--json', 'for machines')
    .action(async (keys: string[], options: RotateOptions) => done(await rotateCommand(keys, options)));
  program
    .command('rotations')
    .description('where each open rotation stands')
    .option('--all', 'those that are over, too')
    .option('--give-up <id>', 'end this one; both of its keys stay')
    .option('--json', 'for machines')
    .action(async (options: RotationsOptions) => done(await rotationsCommand(options)));
  program
    .command('pause')
    .description('stop every replica before its next revocation')
    .option('--reason <text>', 'why, for those who find it paused')
    .action(async (options: { reason?: string }) => done(await pauseCommand(options)));
  program
    .command('resume')
    .description('end the pause, and let this store enforce by itself what the policy has in mode: enforce')
    .action(async () => done(await resumeCommand()));
  program
    .command('incidents')
    .description('what a person has to look at')
    .option('--all', 'closed ones too')
    .option('--close <number>', 'somebody has looked at this one')
    .option('--note <text>', 'what it was')
    .option('--json', 'for machines')
    .action(async (options: { all?: boolean; close?: string; note?: string; json?: boolean }) =>
      done(await incidentsCommand(options)),
    );
  program
    .command('exempt')
    .description('except keys that exist now from the policy, for a time and with a reason')
    .argument('[key...]', 'their ids')
    .option('--name <pattern>', 'those whose name is of it: ci-*')
    .option('--organization <id>', 'those of this organization')
    .option('--kind <kind>', 'personal, organization or project')
    .option('--rule <name...>', 'only from these rules')
    .requiredOption('--reason <text>', 'why')
    .requiredOption('--until <when>', 'a date, or a duration from now: 2027-03-31, 90d')
    .action(async (keys: string[], options: ExemptOptions) => done(await exemptCommand(keys, options)));
  program
    .command('exemptions')
    .description('the exemptions in force')
    .option('--all', 'lapsed and ended ones too')
    .option('--end <number>', 'end this one now')
    .option('--json', 'for machines')
    .action(async (options: { all?: boolean; end?: string; json?: boolean }) => done(await exemptionsCommand(options)));
  const owner = program.command('owner').description('who answers for keys; without a word of yours their creators');
  owner
    .command('set')
    .description('assign one key')
    .argument('<key>', 'its id')
    .option('--owner <name>', 'an e-mail address or a name; left out, its creator')
    .action(async (key: string, options: { owner?: string }) => done(await ownerSetCommand(key, options)));
  owner
    .command('import')
    .description('assign those of a CSV file with the columns key_id and owner: all of them, or none')
    .argument('<file>')
    .action(async (file: string) => done(await ownerImportCommand(file)));
  program
    .command('backtest')
    .description('replay a policy over what was observed: what it would have revoked, and whether that was used later')
    .requiredOption('--from <date>', 'the first day: 2026-03-31')
    .option('--policy <file>', 'a configuration file with another policy')
    .option('--json', 'for machines')
    .action(async (options: { from: string; policy?: string; json?: boolean }) => done(await backtestCommand(options)));
  program
    .command('coverage')
    .description('of which times the archive has every operation, and where not and why')
    .option('--project <id>', 'only this project, with each interval')
    .option('--keys', 'of the key inventory: when each scope was listed whole')
    .option('--rejected', 'rows of lists that could not be read, and why')
    .option('--json', 'for machines')
    .action(async (options: { project?: string; keys?: boolean; rejected?: boolean; json?: boolean }) =>
      done(await coverageCommand(options)),
    );
  program
    .command('retention')
    .description('months of operations that are over retention.operations; drops nothing unless told')
    .option('--drop', 'drop them now')
    .option('--json', 'for machines')
    .action(async (options: { drop?: boolean; json?: boolean }) => done(await retentionCommand(options)));
  const token = program.command('token').description('tokens of the report');
  token
    .command('create')
    .description('make one, and show it this once')
    .requiredOption('--name <name>', 'whose it is')
    .requiredOption('--role <role>', 'viewer, auditor or operator')
    .option('--organization <id...>', 'the only organizations that it may see')
    .option('--expires <date>', 'a date, or a duration from now: 90d')
    .action(async (options: { name: string; role: string; organization?: string[]; expires?: string }) =>
      done(await tokenCreateCommand(options)),
    );
  token
    .command('list')
    .description('all of them, without their secrets')
    .option('--json', 'for machines')
    .action(async (options: { json?: boolean }) => done(await tokenListCommand(options)));
  token
    .command('revoke')
    .description('end one for good')
    .argument('<id>')
    .action(async (id: string) => done(await tokenRevokeCommand(id)));
  program
    .command('check')
    .description('configuration, database, credentials, clock: one line each')
    .action(async () => done(await checkCommand()));
  program
    .command('schema')
    .description('keywarden.yaml as JSON Schema, for editors')
    .action(() => {
      console.log(JSON.stringify(configJsonSchema(), null, 2));
      done(exitCode.done);
    });
  program
    .command('migrate')
    .description('bring the database up to date')
    .option('--citus', 'distribute the operations over the nodes of its cluster')
    .action(async (options: { citus?: boolean }) => done(await migrateCommand(options)));
  return program;

  function withSyncOptions(command: Command, kind: RunKind | undefined): void {
    command
      .option('--connection <name>', 'only this connection')
      .option('--json', 'print a summary for machines')
      .action(async (_options: SyncOptions, self: Command) => done(await syncCommand(kind, self.optsWithGlobals())));
  }
}

/** Returns Commander's message as one sentence on one line. */
function sentence(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? '' : '.'}`;
}
